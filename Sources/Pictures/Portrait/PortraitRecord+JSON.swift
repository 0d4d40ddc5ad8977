import FoundationEssentials
import UploadCore

// `<state>/portrait/newest.json`.
extension PortraitRecord {
    /// The record as stored in the file.
    private struct Stored: Codable {
        struct File: Codable {
            var device: UInt64
            var inode: UInt64
            var size: UInt64
            var modified: Int64
            var changed: Int64
            var born: Int64
        }

        struct Failure: Codable {
            var code: String
            var message: String
            var retryable: Bool
        }

        var version = 1
        var portrait: UInt64
        /// For display; `pathBytes` is authoritative.
        var path: String
        var pathBytes: Data
        var key: String
        var kind: String
        var type: String
        var file: File
        var acceptedAt: Int64
        var isPaused: Bool
        var account: String?
        var fate: Fate
        var attempts: Int
        var startedAt: Int64?
        var finishedAt: Int64?
        var error: Failure?
        var url: String?
    }

    /// The record as JSON.
    var json: [UInt8] {
        get throws {
            let stored = Stored(
                portrait: id, path: drop.path.description, pathBytes: Data(drop.path.bytes),
                key: drop.key.description, kind: drop.type.kind.rawValue, type: drop.type.mime, file: file,
                acceptedAt: drop.acceptedAt.milliseconds, isPaused: drop.isPaused, account: account, fate: fate,
                attempts: attempts, startedAt: startedAt?.milliseconds, finishedAt: finishedAt?.milliseconds,
                error: error.map { .init(code: $0.code, message: $0.message, retryable: $0.retryable) }, url: url)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return Array(try encoder.encode(stored)) + Array("\n".utf8)
        }
    }

    private var file: Stored.File {
        let identity = drop.identity
        return .init(
            device: identity.device, inode: identity.inode, size: identity.size, modified: identity.modified,
            changed: identity.changed, born: identity.born)
    }

    /// Reads a record; nil if the bytes are not a valid record.
    init?(json: [UInt8]) {
        guard let stored = try? JSONDecoder().decode(Stored.self, from: Data(json)),
            let path = RelativePath(Array(stored.pathBytes)), let key = ContentKey(hexadecimal: stored.key),
            let kind = MediaType.Kind(rawValue: stored.kind)
        else { return nil }
        let file = stored.file
        let identity = FileIdentity(
            device: file.device, inode: file.inode, size: file.size, modified: file.modified, changed: file.changed,
            born: file.born)
        let drop = PortraitDrop(
            path: path, key: key, identity: identity, type: MediaType(kind: kind, mime: stored.type),
            acceptedAt: WallTime(milliseconds: stored.acceptedAt), isPaused: stored.isPaused)
        self.init(id: stored.portrait, drop: drop, account: stored.account)
        fate = stored.fate
        attempts = stored.attempts
        startedAt = stored.startedAt.map(WallTime.init)
        finishedAt = stored.finishedAt.map(WallTime.init)
        error = stored.error.map { FileError(code: $0.code, message: $0.message, retryable: $0.retryable) }
        url = stored.url
    }
}
