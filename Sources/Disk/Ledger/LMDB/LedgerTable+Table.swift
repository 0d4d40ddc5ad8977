extension LedgerTable {
    /// The table's position in the environment's list.
    var table: Table { Table(index: number, name: rawValue) }

    private var number: Int {
        switch self {
        case .drops: 0
        case .contents: 1
        case .uploads: 2
        case .fragments: 3
        case .digests: 4
        case .confirmations: 5
        case .settings: 6
        case .meta: 7
        case .sources: 8
        case .parked: 9
        case .directories: 10
        case .queue: 11
        case .start: 12
        case .removals: 13
        case .products: 14
        case .journal: 15
        case .names: 16
        }
    }
}
