import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// The ledger's file while no ledger is open on it: looked through, and saved from, without LMDB.
///
/// LMDB takes its pages at their word: a flipped bit in one can end the process or lead it round in circles. Nothing
/// here maps the file, and no bytes whatever make it trap.
public struct LedgerFile: Sendable {
    /// What a look at all of it found.
    public enum Condition: Hashable, Sendable {
        /// There is none, or an empty one: a new ledger begins.
        case missing
        /// Every page and every record is as it was written.
        case sound
        /// Something is not; the reason is one phrase.
        case damaged(String)
    }

    /// Where it is.
    public let path: String

    /// The file `<directory>/ledger.lmdb`.
    public init(directory: String) {
        path = "\(directory)/ledger.lmdb"
    }

    init(path: String) {
        self.path = path
    }

    /// Bytes in use; nil where there is no file, or none that can be read.
    public var size: UInt64? { (try? LedgerPages(path: path))?.size }

    /// Reads every page and every record.
    ///
    /// - Throws: `newerSchema`; `unreadable` where the file can't be opened.
    public func inspect() throws(LedgerError) -> Condition {
        guard let pages = try open(), !pages.isEmpty else { return .missing }
        var contents = Inspection()
        let survey = pages.visit { contents.note($0, $1, $2) }
        // Whatever else is different in a newer ledger is no damage.
        if let version = contents.version, version > LedgerSchema.current {
            throw .newerSchema(found: version, supported: LedgerSchema.current)
        }
        return (survey.fault ?? contents.fault(missing: survey.missing)).map(Condition.damaged) ?? .sound
    }

    /// Opens the file; nil where there is none.
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

/// What is to be said of a ledger's records once all were seen.
private struct Inspection {
    private(set) var version: UInt32?
    private var hasSecret = false
    private var isEmpty = true
    private var damage: String?
    /// Sums over the index of contents as it is, and as the drops say it should be; no order matters to them.
    private var index: UInt64 = 0
    private var drops: UInt64 = 0

    func fault(missing: [LedgerTable]) -> String? {
        if let damage { return damage }
        if isEmpty { return nil }
        guard let version, hasSecret else { return "its schema version or its secret is lost" }
        if let table = missing.first(where: { LedgerSchema.version(introducing: $0) <= version }) {
            return "table \(table.rawValue) is missing"
        }
        return index == drops ? nil : "its index of contents does not fit its paths"
    }

    mutating func note(_ table: LedgerTable, _ key: [UInt8], _ value: [UInt8]) {
        isEmpty = false
        if table == .contents {
            index &+= recordChecksum(of: UnsafeRawBufferPointer(start: nil, count: 0), table: .contents, key: key)
            if !value.isEmpty { noteDamage(table, key) }
            return
        }
        value.withUnsafeBytes { bytes in
            switch table {
            case .drops: noteDrop(bytes, key)
            case .meta: noteMeta(bytes, key)
            default: if RecordDecoder(bytes, table: table, key: key) == nil { noteDamage(table, key) }
            }
        }
    }

    private mutating func noteDrop(_ bytes: UnsafeRawBufferPointer, _ key: [UInt8]) {
        guard case .success(let drop) = DropRecord.decode(bytes, key: key) else { return noteDamage(.drops, key) }
        guard let content = drop.key else { return }
        let entry = LedgerKeys.content(content) + key
        drops &+= recordChecksum(of: UnsafeRawBufferPointer(start: nil, count: 0), table: .contents, key: entry)
    }

    private mutating func noteMeta(_ bytes: UnsafeRawBufferPointer, _ key: [UInt8]) {
        guard let value = try? MetaRecord.decode(bytes, key: key).get().value else { return noteDamage(.meta, key) }
        if key == LedgerSchema.versionKey { version = LedgerSchema.version(value) }
        if key == LedgerSchema.secretKey { hasSecret = value.count == LedgerSchema.secretSize }
    }

    private mutating func noteDamage(_ table: LedgerTable, _ key: [UInt8]) {
        if damage == nil { damage = "\(LedgerError.damagedRecord(table: table, key: key))" }
    }
}
