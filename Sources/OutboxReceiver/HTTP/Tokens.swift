import Glibc
import Logging
import Synchronization
import SystemPackage

/// The bearer tokens that the server accepts, and their users.
final class Tokens: Sendable {
    /// The user of all requests if no tokens are configured.
    static let localUser = "local"
    private static let longestFile: Int64 = 1 << 20

    private struct Entry: Sendable {
        let digest: [UInt8]
        let user: String
    }

    private struct State {
        var fromFile: [Entry] = []
        var seen: FileStatus?
        var checkedAt: Int64 = .min
    }

    private let fixed: [Entry]
    private let path: String?
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameters:
    ///   - text: Entries `token user`, separated by line breaks or commas.
    ///   - path: A file with such entries, reloaded when it changes.
    init(text: String?, path: String?, logger: Logger) throws(StartFailure) {
        self.path = path
        self.logger = logger
        fixed = try Self.entries(in: text ?? "", origin: "OUTBOX_RECEIVER_TOKENS")
        guard let path else { return }
        let (entries, status) = try Self.read(path)
        state.withLock { state in
            state.fromFile = entries
            state.seen = status
        }
        if status.isReadableByAll {
            logger.warning(
                "every user of this machine can read the token file; run chmod 600 on it", metadata: ["path": "\(path)"]
            )
        }
        guard !entries.isEmpty || !fixed.isEmpty else {
            throw .configuration("\(path) holds no token; add a line \"token user\"")
        }
    }

    /// Whether requests need a token.
    var areNeeded: Bool { path != nil || !fixed.isEmpty }

    /// Returns the user of a request with this `Authorization` field. Throws `.unauthorized` if the token is missing
    /// or unknown.
    /// - Parameter now: Any clock in seconds. The token file is checked once per second.
    func user(authorization: String?, now: Int64) throws(Refusal) -> String {
        guard areNeeded else { return Self.localUser }
        guard let authorization, authorization.prefix(7).lowercased() == "bearer " else { throw .unauthorized }
        let token = authorization.dropFirst(7).drop { $0 == " " }
        let digest = RunningSHA256.hash(token)
        // Compare the digests of all tokens in constant time, so that timing reveals no token.
        var user: String?
        for entry in fixed + current(now) where isEqualInConstantTime(entry.digest, digest) { user = entry.user }
        guard let user else { throw .unauthorized }
        return user
    }

    private func current(_ now: Int64) -> [Entry] {
        guard let path else { return [] }
        return state.withLock { state in
            guard state.checkedAt != now else { return state.fromFile }
            state.checkedAt = now
            guard Self.status(of: path) != state.seen else { return state.fromFile }
            do throws(StartFailure) {
                (state.fromFile, state.seen) = try Self.read(path)
                logger.notice("token file reloaded", metadata: ["tokens": "\(state.fromFile.count)"])
            } catch {
                state.seen = Self.status(of: path)
                logger.error(
                    "cannot use the changed token file, so the former tokens stay valid; correct the file",
                    metadata: ["error": "\(error)"])
            }
            return state.fromFile
        }
    }

    // MARK: Reading

    private static func status(of path: String) -> FileStatus? {
        try? FileStatus(of: path, in: AT_FDCWD)
    }

    private static func read(_ path: String) throws(StartFailure) -> ([Entry], FileStatus) {
        let text: String
        let status: FileStatus
        do throws(Errno) {
            let file = OpenFile(adopting: try retrying { Glibc.open(path, O_RDONLY | O_CLOEXEC) })
            status = try file.status()
            guard status.isRegular, status.size <= longestFile else { throw .invalidArgument }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(longestFile), alignment: 1)
            defer { buffer.deallocate() }
            let count = try file.read(into: buffer, at: 0)
            text = String(decoding: buffer[..<count], as: UTF8.self)
        } catch {
            throw .configuration("cannot read the token file \(path): \(error)")
        }
        return (try entries(in: text, origin: path), status)
    }

    private static func entries(in text: String, origin: String) throws(StartFailure) -> [Entry] {
        var entries: [Entry] = []
        for item in text.split(whereSeparator: \.isNewline).flatMap({ withoutComment($0).split(separator: ",") }) {
            let fields = item.split(whereSeparator: isBlank)
            guard let token = fields.first else { continue }
            guard fields.count == 2, isUser(fields[1]) else {
                throw .configuration(
                    "\(origin): each line must be \"token user\"; a user has only letters, digits and . _ @ + -")
            }
            entries.append(Entry(digest: RunningSHA256.hash(token), user: String(fields[1])))
        }
        return entries
    }

    /// Returns the line up to a word that begins with `#`.
    private static func withoutComment(_ line: Substring) -> Substring {
        let comment = line.indices.first { index in
            line[index] == "#" && (index == line.startIndex || isBlank(line[line.index(before: index)]))
        }
        return line[..<(comment ?? line.endIndex)]
    }

    private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }

    /// Checks a user's name, which is also the name of a directory.
    private static func isUser(_ name: Substring) -> Bool {
        name.utf8.count <= 64 && name.first != "."
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "._@+-".utf8.contains(byte)
                }
            }
    }
}
