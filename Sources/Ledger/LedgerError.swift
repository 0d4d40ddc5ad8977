import UploadCore

/// Why the ledger could not be opened or read.
public enum LedgerError: Error, Hashable, Sendable {
    /// The directory or file cannot be accessed.
    case unreadable(path: String, reason: String)
    /// The file is shorter than its own header says; mapping the file would end the process. Sizes in bytes.
    case cutFile(path: String, size: UInt64, needed: UInt64)
    /// The file is not an LMDB file of this format.
    case notALedger(path: String)
    /// A newer version of the program wrote the ledger.
    case newerSchema(found: UInt32, supported: UInt32)
    /// A record's checksum is wrong, or its fields are invalid.
    case damagedRecord(table: LedgerTable, key: [UInt8])
    /// LMDB reported an error.
    case storage(LMDBError)
    /// The ledger was closed.
    case closed
}

extension LedgerError {
    /// Whether the file is damaged, so that a new ledger must be salvaged from the readable records.
    public var isDamage: Bool {
        switch self {
        case .cutFile, .notALedger, .damagedRecord: true
        case .storage(let error): error.isDamage
        case .unreadable, .newerSchema, .closed: false
        }
    }
}

extension LedgerError: CustomStringConvertible {
    /// The failure, its reason and the remedy, on one line.
    public var description: String {
        switch self {
        case .unreadable(let path, let reason):
            "\(path) cannot be used: \(reason)"
        case .cutFile(let path, let size, let needed):
            "\(path) is truncated: it has \(size) of \(needed) bytes; `outbox run` rebuilds it"
        case .notALedger(let path):
            "\(path) is not a ledger of this format; `outbox run` moves it aside and creates a new one"
        case .newerSchema(let found, let supported):
            "the ledger has format \(found), but this program knows formats up to \(supported) only; update the program"
        case .damagedRecord(let table, let key):
            "damaged record in \(table.rawValue), key \(key.hexadecimal)"
        case .storage(let error):
            "ledger: \(error)"
        case .closed:
            "the ledger is closed"
        }
    }
}

/// The ledger's tables.
public enum LedgerTable: String, CaseIterable, Sendable {
    /// Drops, by a 128-bit hash of the path and an ordinal among paths of the same hash.
    case drops
    /// The paths of each content: by the content's key and the path's key in `drops`; no values.
    case contents
    /// Uploads, by content key.
    case uploads
    /// Pages of fragment states, by content key and big-endian page number.
    case fragments
    /// Pages of block digests, by content key and big-endian page number.
    case digests
    /// Confirmations, by content key and a 64-bit hash of the scope.
    case confirmations
    /// Settings, by name.
    case settings
    /// The ledger's own data: schema version and digest secret.
    case meta
    /// Sources, by id.
    case sources
    /// Uploads of other accounts with their fragment states, by content key and a 64-bit hash of the scope.
    case parked
    /// The children of each directory: by a 128-bit hash of the directory's path, and a child's key in `drops` or the
    /// hash of a subdirectory. The values hold only a checksum.
    case directories

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
        }
    }
}
