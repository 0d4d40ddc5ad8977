import Ledger
import LedgerCare
import LinuxSystem
import Reports
import UploadCore

// User actions on files: pause, resume, cancel, retry, first.
extension Uploader {
    func perform(_ action: UserAction, on target: ActionTarget) async -> [ActionOutcome<FileReport>]? {
        guard let paths = paths(of: target, for: action) else { return nil }
        if target == .all {
            setAll(action)
            handle(posts: .actOnAll(action))
        }
        var outcomes: [(path: RelativePath, refusal: String?)] = []
        for path in paths {
            let isByName = if case .file = target { true } else { false }
            // The path may be the new name of a file whose upload is under way, and the file may belong to a post.
            if isByName { handle(posts: .expected(path)) }
            outcomes.append((path, handle(.act(action, path, isByName: isByName))))
        }
        await parts.ledger.commit([])
        return outcomes.compactMap { path, refusal in
            report(at: path).map { ActionOutcome($0, refusal: refusal) }
        }
    }

    func report(at path: RelativePath) -> FileReport? { record(of: path).map(makeReport) }

    /// Returns the paths of a target, sorted; `nil` if no file has the id or key.
    private func paths(of target: ActionTarget, for action: UserAction) -> [RelativePath]? {
        switch target {
        case .file(let id):
            let former = { self.formerNames.path(withFormerID: id) { self.record(of: $0) != nil } }
            return (path(withID: id) ?? former()).map { [$0] }
        case .upload(let key):
            let paths = Set(book.drops.values.filter { $0.key == key }.map(\.path))
                .union(
                    ((try? parts.ledger.drops(of: key)) ?? []).filter {
                        record(of: $0).map { $0.key == key && !$0.isTrace } ?? false
                    })
            return paths.isEmpty ? nil : paths.sorted()
        case .all: return allPaths(for: action).sorted()
        }
    }

    func path(withID id: String) -> RelativePath? {
        if let path = (try? parts.ledger.drop(withIdentifier: id))?.path, let record = record(of: path) {
            return record.path
        }
        // The ledger does not know paths that are still being written or hashed.
        let fresh = book.drops.values.lazy.filter { $0.key == nil }.map(\.path)
        return (Array(fresh) + unsaved.records.map(\.path)).first { FileReport.id(of: $0) == id }
    }

    /// Returns the paths that an action on everything changes. All other paths are in the wanted state already.
    private func allPaths(for action: UserAction) -> [RelativePath] {
        switch action {
        case .cancel: return book.drops.values.filter { !posts.isInDraft($0) }.map(\.path)
        case .resume: return book.drops.values.filter { book.isPaused($0) }.map(\.path)
        case .retry:
            var paths = book.drops.values.filter { makeReport($0).state == .waiting }.map(\.path)
            forEachStoredDrop { record in
                // Retrying an old portrait would replace the newest one.
                guard record.state == .failed, book.drops[record.path] == nil, !book.isPortrait(record.path) else {
                    return
                }
                paths.append(record.path)
            }
            return paths
        // Pausing everything is a separate setting. Moving everything to the head of the queue changes no order.
        case .pause, .first, .submit: return []
        }
    }

    private func setAll(_ action: UserAction) {
        if action == .pause || action == .resume { parts.pauseMark?.set(action == .pause) }
        switch action {
        case .pause: process([.setAllPaused(true)], writes: [.setting(LedgerSetting.allPaused, [1])])
        case .resume: process([.setAllPaused(false)], writes: [.setting(LedgerSetting.allPaused, nil)])
        case .cancel, .retry, .first, .submit: break
        }
    }
}
