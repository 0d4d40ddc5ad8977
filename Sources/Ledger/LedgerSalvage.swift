import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// Saves what can be saved of a damaged ledger: every record that can be reached and whose checksum is right, and that
/// means something without those that are lost. What is left out is found again in the outbox and on the server.
public struct LedgerSalvage: Hashable, Sendable {
    /// Records saved, by table.
    public internal(set) var saved: [LedgerTable: Int] = [:]
    /// Records of which it is known that they are lost; there may be more.
    public internal(set) var lost = 0
    /// Whether the digest secret was among the lost: everything that was keyed with it is left out then.
    public internal(set) var hasNewSecret = false

    /// Makes a sound ledger at `path`, which must not exist, of what is left of the file; an empty one where nothing is.
    ///
    /// - Parameter settings: settings that the new ledger holds from its first moment.
    /// - Throws: `unreadable` or `storage` when the new file can't be made.
    public static func make(
        at path: String, from file: LedgerFile, settings: [String: [UInt8]] = [:]
    ) throws(LedgerError) -> LedgerSalvage {
        let pages = try file.open()
        let environment: Environment
        do throws(LMDBError) {
            environment = try Environment(
                path: path, tables: LedgerTable.allCases.map(\.rawValue), mapSize: Ledger.mapSize)
        } catch {
            throw .storage(error)
        }
        defer { environment.close() }
        var importer = SalvageImport(environment: environment)
        do throws(LMDBError) {
            if let pages, !pages.isEmpty { try importer.run(pages) }
            try importer.finish(newSecret: try Self.newSecret(), settings: settings)
        } catch {
            throw .storage(error)
        }
        return importer.result
    }

    private static func newSecret() throws(LMDBError) -> [UInt8] {
        do throws(LedgerError) {
            return try LedgerSchema.randomSecret()
        } catch {
            throw LMDBError(code: EIO, operation: "getentropy", context: "digest secret")
        }
    }
}

/// Puts the records of one file into a new environment.
private struct SalvageImport {
    private typealias Record = (table: LedgerTable, key: [UInt8], value: [UInt8])

    let environment: Environment
    var result = LedgerSalvage()
    private var secret: [UInt8]?

    /// Bytes that wait in memory for one transaction.
    private static let batchSize = 4 << 20

    init(environment: Environment) {
        self.environment = environment
    }

    /// Goes through the file once for each table that others lean on, so that nothing need be kept in memory.
    mutating func run(_ pages: LedgerPages) throws(LMDBError) {
        try copy([.meta], of: pages)
        // Seals, digests and what was sent by them can't be compared with anything any more.
        let keyed: Set<LedgerTable> = secret == nil ? [] : [.confirmations, .uploads, .parked]
        try copy(keyed.union([.settings, .drops, .sources]), of: pages)
        if secret != nil { try copy([.digests, .fragments], of: pages) }
    }

    mutating func finish(newSecret: [UInt8], settings: [String: [UInt8]]) throws(LMDBError) {
        let secret = secret ?? newSecret
        result.hasNewSecret = self.secret == nil
        try environment.write { transaction throws(LMDBError) in
            try LedgerSchema.put(secret, LedgerSchema.secretKey, in: transaction)
            try LedgerSchema.putVersion(in: transaction)
            var encoder = RecordEncoder()
            for (name, value) in settings {
                let key = Array(name.utf8)
                SettingRecord(value: value).encode(into: &encoder, key: key)
                try transaction.put(LedgerTable.settings.table, key, encoder.bytes)
            }
        }
    }

    private mutating func copy(_ tables: Set<LedgerTable>, of pages: LedgerPages) throws(LMDBError) {
        var batch: [Record] = []
        var size = 0
        var failure: LMDBError?
        _ = pages.visit { table, key, value in
            guard tables.contains(table), failure == nil else { return }
            let isSound = value.withUnsafeBytes { RecordDecoder($0, table: table, key: key) != nil }
            guard isSound else {
                result.lost += 1
                return
            }
            batch.append((table, key, value))
            size += key.count + value.count
            guard size > Self.batchSize else { return }
            do throws(LMDBError) {
                try store(batch)
            } catch {
                failure = error
            }
            batch = []
            size = 0
        }
        if let failure { throw failure }
        try store(batch)
    }

    private mutating func store(_ batch: [Record]) throws(LMDBError) {
        var stored: [LedgerTable] = []
        while true {
            stored = []
            do throws(LMDBError) {
                try environment.write { transaction throws(LMDBError) in
                    for record in batch where try put(record, in: transaction) { stored.append(record.table) }
                }
                break
            } catch {
                guard error.code == MDBCode.mapFull else { throw error }
                try environment.grow()
            }
        }
        for table in stored { result.saved[table, default: 0] += 1 }
    }

    /// - Returns: whether the record is of use.
    private mutating func put(
        _ record: Record, in transaction: borrowing WriteTransaction
    ) throws(LMDBError) -> Bool {
        switch record.table {
        case .meta:
            let value = record.value.withUnsafeBytes { try? MetaRecord.decode($0, key: record.key).get().value }
            if record.key == LedgerSchema.secretKey, value?.count == LedgerSchema.secretSize { secret = value }
            return false
        case .contents, .directories:
            return false
        case .fragments:
            // States that outlive the upload they tell of would be believed of the next one with the same content.
            guard try transaction.reading.hasUpload(Array(record.key.prefix(16))) else { return false }
        case .digests:
            guard try transaction.reading.needsDigests(Array(record.key.prefix(16))) else { return false }
        case .drops:
            let drop = record.value.withUnsafeBytes { try? DropRecord.decode($0, key: record.key).get() }
            guard let drop else { return false }
            if let key = drop.key {
                try transaction.put(LedgerTable.contents.table, LedgerKeys.content(key) + record.key, [])
            }
            try DirectoryIndex().add(drop.path, record.key, in: transaction)
        case .uploads, .confirmations, .settings, .sources, .parked: break
        }
        try transaction.put(record.table.table, record.key, record.value)
        return true
    }
}
