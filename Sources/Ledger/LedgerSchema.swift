import Glibc
import SystemPackage

/// The version of the ledger's layout, and how an older one becomes the present one.
enum LedgerSchema {
    static let current: UInt32 = 1
    /// Bytes in the secret that keys the block digests: what XXH3 takes at its best (XXH3_SECRET_DEFAULT_SIZE).
    static let secretSize = 192

    /// What leads from each older version to the next; none is older yet.
    typealias Migration = @Sendable (borrowing WriteTransaction) throws(LMDBError) -> Void
    static let migrations: [UInt32: Migration] = [:]

    static let versionKey = Array("schema".utf8)
    static let secretKey = Array("digest_secret".utf8)

    /// Brings a ledger just opened to the present version, in one transaction; a new one gets version and secret.
    ///
    /// - Throws: `newerSchema`, a damaged record, or what LMDB reports.
    static func prepare(_ environment: Environment, newSecret: [UInt8]) throws(LedgerError) {
        let outcome: Result<Void, LedgerError>
        do throws(LMDBError) {
            outcome = try environment.write { transaction throws(LMDBError) in
                let stored: UInt32
                switch try value(versionKey, in: transaction.reading) {
                case nil:
                    try put(newSecret, secretKey, in: transaction)
                    stored = current
                case .success(let bytes):
                    stored = bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
                case .failure(let damage):
                    return .failure(damage)
                }
                if stored > current { return .failure(.newerSchema(found: stored, supported: current)) }
                for version in stored..<current { try migrations[version]?(transaction) }
                try put(withUnsafeBytes(of: current.littleEndian) { Array($0) }, versionKey, in: transaction)
                return .success(())
            }
        } catch {
            throw .storage(error)
        }
        try outcome.get()
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

    /// Fresh bytes from the kernel (man 3 getentropy: getrandom, at most 256 bytes, never cut short).
    static func randomSecret() throws(LedgerError) -> [UInt8] {
        var secret = [UInt8](repeating: 0, count: secretSize)
        guard getentropy(&secret, secret.count) == 0 else {
            throw .unreadable(path: "getentropy", reason: "\(Errno(rawValue: errno))")
        }
        return secret
    }
}
