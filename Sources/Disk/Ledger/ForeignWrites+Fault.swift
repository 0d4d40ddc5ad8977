extension ForeignWrites {
    /// Inspects the file if another program changed it. Returns the fault as one phrase; nil if the ledger can go on.
    func fault() -> String? {
        switch change() {
        case nil: return nil
        case .removed: return "\(path) was removed while the agent ran"
        case .replaced: return "another file took the place of \(path) while the agent ran"
        case .written(let mark):
            do throws(LedgerError) {
                switch try LedgerFile(path: path).inspect() {
                case .missing: return "\(path) was emptied while the agent ran"
                case .damaged(let reason): return "another program wrote to \(path) while the agent ran: \(reason)"
                case .sound:
                    accept(mark)
                    return nil
                }
            } catch {
                return "\(error)"
            }
        }
    }
}
