import Glibc
import SystemPackage

/// The version of the ledger's layout, and the migrations from older versions.
enum LedgerSchema {
    /// The present version: 9, that of 0.2.0, with the tables of the journal.
    static let current: UInt32 = 10
    /// The oldest version that can be migrated. Ledgers of older versions are rebuilt from their records.
    static let oldest: UInt32 = 9
    /// Bytes in the secret that keys the block digests: XXH3's default size (XXH3_SECRET_DEFAULT_SIZE).
    static let secretSize = 192

    /// Migrates a ledger from one version to the next; `migrations` has the older version as key.
    typealias Migration = @Sendable (borrowing WriteTransaction) throws(LMDBError) -> Void
    static let migrations: [UInt32: Migration] = [
        // Opening the file created the tables of the journal.
        9: { _ in }
    ]

    /// The first version with a table.
    static func firstVersion(with table: LedgerTable) -> UInt32 {
        switch table {
        case .journal, .names: 10
        default: oldest
        }
    }

    static let versionKey = Array("schema".utf8)
    static let secretKey = Array("digest_secret".utf8)

    /// Migrates a newly opened ledger to the present version, in one transaction; gives a new ledger its version and
    /// secret.
    ///
    /// - Throws: `newerSchema`, `olderSchema`, a damaged record, or LMDB's error.
    static func prepare(_ environment: Environment, newSecret: [UInt8]) throws(LedgerError) {
        while true {
            let outcome: Result<Void, LedgerError>
            do throws(LMDBError) {
                outcome = try attempt(environment, newSecret: newSecret)
            } catch {
                // A migration may need more room than the map has under the process's limits.
                guard error.code == MDBCode.mapFull else { throw .storage(error) }
                do throws(LMDBError) { try environment.grow() } catch { throw .storage(error) }
                continue
            }
            return try outcome.get()
        }
    }

    private static func attempt(
        _ environment: Environment, newSecret: [UInt8]
    ) throws(LMDBError) -> Result<Void, LedgerError> {
        try environment.write { transaction throws(LMDBError) in
            let stored: UInt32
            switch try value(versionKey, in: transaction.reading) {
            case nil:
                guard try transaction.reading.isEmpty else {
                    return .failure(.damagedRecord(table: .meta, key: versionKey))
                }
                try put(newSecret, secretKey, in: transaction)
                try StateCounts().store(in: transaction)
                try putVersion(in: transaction)
                stored = current
            case .success(let bytes): stored = version(bytes)
            case .failure(let damage): return .failure(damage)
            }
            if stored > current { return .failure(.newerSchema(found: stored, supported: current)) }
            if stored < oldest { return .failure(.olderSchema(found: stored)) }
            guard try hasSecret(transaction.reading) else {
                return .failure(.damagedRecord(table: .meta, key: secretKey))
            }
            for version in stored..<current { try migrations[version]?(transaction) }
            if stored < current { try putVersion(in: transaction) }
            return .success(())
        }
    }

    /// Stores the present version number.
    static func putVersion(in transaction: borrowing WriteTransaction) throws(LMDBError) {
        try put(withUnsafeBytes(of: current.littleEndian) { Array($0) }, versionKey, in: transaction)
    }

    static func version(_ bytes: [UInt8]) -> UInt32 {
        bytes.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func hasSecret(_ transaction: borrowing ReadTransaction) throws(LMDBError) -> Bool {
        guard case .success(let secret) = try value(secretKey, in: transaction) else { return false }
        return secret.count == secretSize
    }

    static func value(
        _ key: [UInt8], in transaction: borrowing ReadTransaction
    ) throws(LMDBError) -> Result<[UInt8], LedgerError>? {
        try transaction.get(LedgerTable.meta.table, key) { MetaRecord.decode($0, key: key).map(\.value) }
    }

    static func put(
        _ value: [UInt8], _ key: [UInt8], in transaction: borrowing WriteTransaction
    ) throws(LMDBError) {
        var encoder = RecordEncoder()
        MetaRecord(value: value).encode(into: &encoder, key: key)
        try transaction.put(LedgerTable.meta.table, key, encoder.bytes)
    }

    /// Stores a setting.
    static func put(
        _ value: [UInt8], setting name: String, in transaction: borrowing WriteTransaction
    ) throws(LMDBError) {
        let key = Array(name.utf8)
        var encoder = RecordEncoder()
        SettingRecord(value: value).encode(into: &encoder, key: key)
        try transaction.put(LedgerTable.settings.table, key, encoder.bytes)
    }

    /// Returns fresh bytes from the kernel (man 3 getentropy: getrandom, at most 256 bytes, never cut short).
    static func randomSecret() throws(LedgerError) -> [UInt8] {
        var secret = [UInt8](repeating: 0, count: secretSize)
        guard getentropy(&secret, secret.count) == 0 else {
            throw .unreadable(path: "getentropy", reason: "\(Errno(rawValue: errno))")
        }
        return secret
    }
}
