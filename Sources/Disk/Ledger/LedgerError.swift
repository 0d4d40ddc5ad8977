package import UploadCore

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
    /// A version of the program before 0.2.0 wrote the ledger.
    case olderSchema(found: UInt32)
    /// A record's checksum is wrong, or its fields are invalid.
    case damagedRecord(table: LedgerTable, key: [UInt8])
    /// LMDB reported an error.
    case storage(LMDBError)
    /// The ledger was closed.
    case closed
}

extension LedgerError {
    /// The content of a damaged upload, or of a damaged place in the queue; nil for other errors.
    package var upload: ContentKey? {
        guard case .damagedRecord(let table, let key) = self, table == .uploads || table == .queue else { return nil }
        return LedgerKeys.contentKey(Array(key.suffix(LedgerKeys.contentSize)))
    }

    /// Whether the file is damaged, so that a new ledger must be salvaged from the readable records.
    public var isDamage: Bool {
        switch self {
        case .cutFile, .notALedger, .olderSchema, .damagedRecord: true
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
        case .olderSchema(let found):
            "the ledger has format \(found), from before version 0.2.0; `outbox run` rebuilds it"
        case .damagedRecord(let table, let key):
            "damaged record in \(table.rawValue), key \(key.hexadecimal)"
        case .storage(let error):
            "ledger: \(error)"
        case .closed:
            "the ledger is closed"
        }
    }
}
