import Glibc
import SystemPackage
import UploadCore

/// The ledger's file while no ledger has it open: inspects and salvages the file without LMDB.
///
/// LMDB trusts its pages: a flipped bit can end the process or trap it in a loop. `LedgerFile` never maps the file,
/// and no input makes its code trap.
public struct LedgerFile: Sendable {
    /// The result of an inspection.
    public enum Condition: Hashable, Sendable {
        /// The file is missing or empty: a new ledger begins.
        case missing
        /// Every page and every record is intact.
        case sound
        /// A page or record is damaged; the reason is one phrase.
        case damaged(String)
    }

    /// The file's path.
    public let path: String

    /// The file `<directory>/ledger.lmdb`.
    public init(directory: String) {
        path = "\(directory)/ledger.lmdb"
    }

    init(path: String) {
        self.path = path
    }

    /// Bytes in use; nil if the file is missing or unreadable.
    public var size: UInt64? { (try? LedgerPages(path: path))?.size }

    /// Reads every page and every record.
    ///
    /// - Throws: `newerSchema`; `unreadable` if the file cannot be opened.
    public func inspect() throws(LedgerError) -> Condition {
        guard let pages = try open(), !pages.isEmpty else { return .missing }
        var contents = Inspection()
        let survey = pages.visit { contents.note($0, $1, $2) }
        // Other differences in a newer ledger are no damage.
        if let version = contents.version, version > LedgerSchema.current {
            throw .newerSchema(found: version, supported: LedgerSchema.current)
        }
        return (survey.fault ?? contents.fault(missing: survey.missing)).map(Condition.damaged) ?? .sound
    }

    /// Opens the file; returns nil if the file does not exist.
    func open() throws(LedgerError) -> LedgerPages? {
        do throws(Errno) {
            return try LedgerPages(path: path)
        } catch Errno.noSuchFileOrDirectory {
            return nil
        } catch {
            throw .unreadable(path: path, reason: "\(error)")
        }
    }
}

/// Collects facts about a ledger's records and judges them after the last record.
private struct Inspection {
    private(set) var version: UInt32?
    private var hasSecret = false
    private var isEmpty = true
    private var damage: String?
    private var contents = IndexComparison(table: .contents)
    private var queue = IndexComparison(table: .queue)
    private var start = IndexComparison(table: .start)
    private var states = StateCounts()
    private var storedStates: StateCounts?

    func fault(missing: [LedgerTable]) -> String? {
        if let damage { return damage }
        if isEmpty { return nil }
        guard let version, hasSecret else { return "the schema version or the digest secret is missing" }
        if version < LedgerSchema.oldest { return "\(LedgerError.olderSchema(found: version))" }
        if let table = missing.first(where: { LedgerSchema.firstVersion(with: $0) <= version }) {
            return "table \(table.rawValue) is missing"
        }
        if !contents.isEqual { return "the index of contents does not match the paths" }
        if !queue.isEqual { return "the queue does not match the uploads" }
        if states != storedStates { return "the number of paths in each state does not match the paths" }
        return start.isEqual ? nil : "the index of paths for the start does not match the paths"
    }

    mutating func note(_ table: LedgerTable, _ key: [UInt8], _ value: [UInt8]) {
        isEmpty = false
        if table == .contents {
            contents.addStored(key)
            if !value.isEmpty { noteDamage(table, key) }
            return
        }
        value.withUnsafeBytes { bytes in
            switch table {
            case .drops: noteDrop(bytes, key)
            case .uploads: noteUpload(bytes, key)
            case .meta: noteMeta(bytes, key)
            default:
                // A name that can't be found costs too little for a checksum.
                if table != .names, RecordDecoder(bytes, table: table, key: key) == nil { noteDamage(table, key) }
                if table == .queue { queue.addStored(key) }
                if table == .start { start.addStored(key) }
            }
        }
    }

    private mutating func noteDrop(_ bytes: UnsafeRawBufferPointer, _ key: [UInt8]) {
        guard case .success(let drop) = DropRecord.decode(bytes, key: key) else { return noteDamage(.drops, key) }
        states[drop.tally] += 1
        if drop.isNeededAtStart { start.addExpected(key) }
        guard let content = drop.key else { return }
        contents.addExpected(LedgerKeys.content(content) + key)
    }

    private mutating func noteUpload(_ bytes: UnsafeRawBufferPointer, _ key: [UInt8]) {
        guard case .success(let upload) = UploadRecord.decode(bytes, key: key) else { return noteDamage(.uploads, key) }
        queue.addExpected(LedgerKeys.place(upload.place))
    }

    private mutating func noteMeta(_ bytes: UnsafeRawBufferPointer, _ key: [UInt8]) {
        guard let value = try? MetaRecord.decode(bytes, key: key).get().value else { return noteDamage(.meta, key) }
        if key == StateCounts.key { storedStates = StateCounts(value) }
        if key == LedgerSchema.versionKey { version = LedgerSchema.version(value) }
        if key == LedgerSchema.secretKey { hasSecret = value.count == LedgerSchema.secretSize }
    }

    private mutating func noteDamage(_ table: LedgerTable, _ key: [UInt8]) {
        if damage == nil { damage = "\(LedgerError.damagedRecord(table: table, key: key))" }
    }
}

/// Compares the keys of a stored index with those that the records require, by a sum that is independent of order.
private struct IndexComparison {
    let table: LedgerTable
    private var difference: UInt64 = 0

    init(table: LedgerTable) {
        self.table = table
    }

    var isEqual: Bool { difference == 0 }

    mutating func addStored(_ key: [UInt8]) { difference &+= checksum(key) }

    mutating func addExpected(_ key: [UInt8]) { difference &-= checksum(key) }

    private func checksum(_ key: [UInt8]) -> UInt64 {
        recordChecksum(of: UnsafeRawBufferPointer(start: nil, count: 0), table: table, key: key)
    }
}
