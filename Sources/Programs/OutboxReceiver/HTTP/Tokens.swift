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
        var quota: Int64?
    }

    private struct State {
        var fromFile: [Entry] = []
        var quotas: [String: Int64] = [:]
        var seen: FileStatus?
        var checkedAt: Int64 = .min
    }

    private let fixed: [Entry]
    private let path: String?
    private let mayBeEmpty: Bool
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameters:
    ///   - text: Entries `token user` or `token user quota=50GiB`, separated by line breaks or commas.
    ///   - path: A file with such entries, reloaded when it changes.
    ///   - mayBeEmpty: Whether the file may hold no token yet; then nobody is accepted.
    init(text: String?, path: String?, mayBeEmpty: Bool = false, logger: Logger) throws(StartFailure) {
        self.path = path
        self.mayBeEmpty = mayBeEmpty
        self.logger = logger
        fixed = try Self.entries(in: text ?? "", origin: "OUTBOX_RECEIVER_TOKENS")
        adopt([], seen: nil)
        guard let path else { return }
        let (entries, status) = try load(path)
        adopt(entries, seen: status)
        if status.isReadableByAll {
            logger.warning(
                "every user of this machine can read the token file; run chmod 600 on it", metadata: ["path": "\(path)"]
            )
        }
    }

    private func adopt(_ entries: [Entry], seen status: FileStatus?) {
        state.withLock { Self.adopt(entries, status, fixed, &$0) }
    }

    private static func adopt(_ entries: [Entry], _ status: FileStatus?, _ fixed: [Entry], _ state: inout State) {
        state.fromFile = entries
        state.seen = status
        state.quotas = (fixed + entries).reduce(into: [:]) { quotas, entry in
            guard let quota = entry.quota else { return }
            quotas[entry.user] = max(quotas[entry.user, default: 0], quota)
        }
    }

    /// The quotas in bytes of the users whose lines name one; `Int64.max` for `quota=none`. If several lines of a user
    /// name a quota, the largest applies.
    var quotas: [String: Int64] { state.withLock { $0.quotas } }

    /// Whether requests need a token.
    var areNeeded: Bool { path != nil || !fixed.isEmpty }

    /// Returns the user of a request with this `Authorization` field. Throws `.unauthorized` if the token is missing
    /// or unknown.
    /// - Parameter now: Any clock in seconds. The token file is checked once per second.
    func user(authorization: String?, now: Int64) throws(Refusal) -> String {
        guard areNeeded else { return Self.localUser }
        guard let authorization, authorization.prefix(7).lowercased() == "bearer " else { throw .unauthorized }
        let token = authorization.dropFirst(7).drop { $0 == " " }
        guard let holder = holder(of: token, now: now) else { throw .unauthorized }
        return holder.user
    }

    /// A user, and the digest of the token that the user showed.
    struct Holder: Equatable, Sendable {
        let user: String
        fileprivate let digest: [UInt8]
    }

    /// Returns the user with this token; nil if the token is unknown.
    func holder(of token: some StringProtocol, now: Int64) -> Holder? {
        let digest = RunningSHA256.hash(token)
        return holder(of: digest, now).map { Holder(user: $0, digest: digest) }
    }

    /// Whether this token still belongs to this user.
    func isValid(_ holder: Holder, now: Int64) -> Bool { self.holder(of: holder.digest, now) == holder.user }

    /// Compares the digests of all tokens in constant time, so that timing reveals no token.
    private func holder(of digest: [UInt8], _ now: Int64) -> String? {
        var user: String?
        for entry in fixed + current(now) where isEqualInConstantTime(entry.digest, digest) { user = entry.user }
        return user
    }

    private func current(_ now: Int64) -> [Entry] {
        guard let path else { return [] }
        return state.withLock { state in
            guard state.checkedAt != now else { return state.fromFile }
            state.checkedAt = now
            guard Self.status(of: path) != state.seen else { return state.fromFile }
            do throws(StartFailure) {
                let (entries, status) = try load(path)
                Self.adopt(entries, status, fixed, &state)
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

    private func load(_ path: String) throws(StartFailure) -> ([Entry], FileStatus) {
        let (entries, status) = try Self.read(path)
        guard mayBeEmpty || !entries.isEmpty || !fixed.isEmpty else {
            throw .configuration("\(path) holds no token; add a line \"token user\"")
        }
        return (entries, status)
    }

    private static func read(_ path: String) throws(StartFailure) -> ([Entry], FileStatus) {
        let text: String
        let status: FileStatus
        do throws(Errno) {
            let file = OpenFile(adopting: try retrying { Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) })
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
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            for item in withoutComment(line).split(separator: ",") {
                let fields = item.split(whereSeparator: isBlank)
                if !fields.isEmpty { entries.append(try entry(fields, origin: "\(origin), line \(index + 1)")) }
            }
        }
        return entries
    }

    /// - Parameter fields: At least one.
    private static func entry(_ fields: [Substring], origin: String) throws(StartFailure) -> Entry {
        guard (2...3).contains(fields.count), isUser(fields[1]) else {
            throw .configuration(
                "\(origin): each line must be \"token user\" or \"token user quota=50GiB\"; "
                    + "a user has only letters, digits and . _ @ + -")
        }
        var entry = Entry(digest: RunningSHA256.hash(fields[0]), user: String(fields[1]))
        guard fields.count == 3 else { return entry }
        entry.quota = quota(fields[2])
        guard entry.quota != nil else {
            throw .configuration(
                "\(origin): cannot read \(LogText.quoted(String(fields[2]))); write quota=50GiB (KiB, MiB, GiB, TiB, "
                    + "or no unit for bytes), or quota=none")
        }
        return entry
    }

    private static func quota(_ field: Substring) -> Int64? {
        guard field.hasPrefix("quota=") else { return nil }
        let size = field.dropFirst("quota=".count)
        return size == "none" ? .max : ByteUnits.bytes(size)
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
