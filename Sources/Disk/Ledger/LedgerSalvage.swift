import Glibc
import UploadCore

/// Salvages a damaged ledger: saves every reachable record with a correct checksum that is usable without the lost
/// records. The agent finds the missing facts again in the outbox and on the server.
public struct LedgerSalvage: Hashable, Sendable {
    /// Number of saved records, by table.
    public internal(set) var saved: [LedgerTable: Int] = [:]
    /// Number of records known to be lost; more may be lost.
    public internal(set) var lost = 0
    /// Whether the digest secret was lost: every record keyed with the secret is then left out.
    public internal(set) var hasNewSecret = false

    /// Creates a sound ledger at `path`, which must not exist, from the readable records; an empty ledger if no
    /// record is readable.
    ///
    /// - Parameter settings: settings to store in the new ledger from the start.
    /// - Throws: `unreadable` or `storage` if the new file cannot be created.
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

/// Copies one file's records into a new environment.
private struct SalvageImport {
    private typealias Record = (table: LedgerTable, key: [UInt8], value: [UInt8])

    let environment: Environment
    var result = LedgerSalvage()
    private var secret: [UInt8]?

    /// Bytes buffered in memory for one transaction.
    private static let batchSize = 4 << 20

    init(environment: Environment) {
        self.environment = environment
    }

    /// Reads the file once for each group of tables that others depend on, so that no records stay in memory.
    mutating func run(_ pages: LedgerPages) throws(LMDBError) {
        try copy([.meta], of: pages)
        // Without the secret, seals and digests cannot be compared any more.
        let keyed: Set<LedgerTable> = secret == nil ? [] : [.confirmations, .uploads, .parked, .products]
        try copy(keyed.union([.settings, .drops, .sources, .removals, .journal]), of: pages)
        if secret != nil { try copy([.digests, .fragments], of: pages) }
    }

    mutating func finish(newSecret: [UInt8], settings: [String: [UInt8]]) throws(LMDBError) {
        let secret = secret ?? newSecret
        result.hasNewSecret = self.secret == nil
        try environment.write { transaction throws(LMDBError) in
            try LedgerSchema.put(secret, LedgerSchema.secretKey, in: transaction)
            try LedgerSchema.putVersion(in: transaction)
            try StateCounts.count(in: transaction.reading).store(in: transaction)
            for (name, value) in settings { try LedgerSchema.put(value, setting: name, in: transaction) }
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

    /// - Returns: whether the record is usable.
    private mutating func put(
        _ record: Record, in transaction: borrowing WriteTransaction
    ) throws(LMDBError) -> Bool {
        switch record.table {
        case .meta:
            let value = record.value.withUnsafeBytes { try? MetaRecord.decode($0, key: record.key).get().value }
            if record.key == LedgerSchema.secretKey, value?.count == LedgerSchema.secretSize { secret = value }
            return false
        case .contents, .directories, .queue, .start, .names:
            return false
        case .journal:
            let number = LedgerKeys.number(record.key.prefix(LedgerKeys.numberSize))
            let isRow = record.key.count == LedgerKeys.numberSize
            let (row, place) = record.value.withUnsafeBytes { value in
                (
                    isRow ? try? JournalRow.decode(value, key: record.key).get() : nil,
                    isRow ? nil : try? JournalPlace.decode(value, key: record.key).get()
                )
            }
            if let row {
                try JournalTable().index(row, number, in: transaction)
            } else if let place {
                try JournalTable().index(place.path, number, in: transaction)
            } else {
                return false
            }
        case .fragments:
            // Fragment states without their upload would count for the next upload of the same content.
            guard try transaction.reading.hasUpload(Array(record.key.prefix(16))) else { return false }
        case .digests:
            guard try transaction.reading.needsDigests(Array(record.key.prefix(16))) else { return false }
        case .drops:
            let drop = record.value.withUnsafeBytes { try? DropRecord.decode($0, key: record.key).get() }
            guard let drop else { return false }
            var encoder = RecordEncoder()
            _ = try DropTable().store(drop, in: transaction, encoder: &encoder)
            return true
        case .uploads:
            let upload = record.value.withUnsafeBytes { try? UploadRecord.decode($0, key: record.key).get() }
            guard let upload else { return false }
            try QueueIndex.move(upload.key, to: upload.place, in: transaction)
        case .confirmations, .settings, .sources, .parked, .removals, .products: break
        }
        try transaction.put(record.table.table, record.key, record.value)
        return true
    }
}
