import Glibc
import HTTPTypes
import Logging
import NIOCore
import Synchronization
import SystemPackage

extension Store {
    /// Makes a stored portrait the user's current one. Durable on return.
    func recordPortrait(_ token: Hex128, size: Int64, user: String) async throws {
        let time = now()
        try withBooks { books in
            try books.journal.append([.portrait(token, user: user, at: time, size: size)])
            books.catalog.portraits.add(token, user: user, at: time, size: size)
        }
        removeFormerPortraits(of: user)
        try await settle()
    }

    /// - Parameter user: whose portraits; nil for all.
    func removeFormerPortraits(of user: String? = nil) {
        let time = now()
        let expired = withBooks { books in
            books.catalog.portraits.expired(at: time, of: user) { room(for: $0, books.catalog) < 0 }
        }
        for token in expired {
            do throws(Errno) {
                try portraits.remove(PortraitDraft.name(of: token))
                withBooks { $0.catalog.portraits.forget(token) }
            } catch {
                logger.warning("cannot remove a former portrait", metadata: ["error": "\(error)"])
            }
        }
    }
}

/// The users whose portrait is being received: one portrait each, which no quota counts before it is complete.
final class PortraitUsers: Sendable {
    private let users = Mutex<Set<String>>([])

    /// - Returns: whether no other portrait of the user is being received.
    func enter(_ user: String) -> Bool { users.withLock { $0.insert(user).inserted } }

    func leave(_ user: String) { users.withLock { _ = $0.remove(user) } }
}

/// A portrait that a request writes to a file.
struct PortraitDraft {
    static let largest: Int64 = 20 << 20
    private static let signature: [UInt8] = [0xff, 0xd8, 0xff]

    let token = Hex128.random()
    private(set) var size: Int64 = 0
    private let store: Store
    private let file: OpenFile
    private var head: [UInt8] = []
    private var digest = RunningMD5()
    private let user: String

    init(of user: String, in store: Store) throws {
        self.store = store
        self.user = user
        file = try store.portraits.open(
            Self.name(of: token) + ".part", O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
    }

    static func name(of token: Hex128) -> String { "\(token).jpg" }

    var md5: Hex128 { digest.digest() }

    mutating func append(_ bytes: ByteBuffer) throws {
        let count = Int64(bytes.readableBytes)
        guard size + count <= Self.largest else {
            throw Self.tooLarge
        }
        // A new portrait may take the place of all former ones.
        let room = store.withBooks { store.room(for: user, $0.catalog) + $0.catalog.portraits.charge(of: user) }
        guard Charge.file(size + count) + Charge.entry <= room else {
            throw Refusal.overQuota(store.limits.quota(of: user) ?? 0)
        }
        head += bytes.readableBytesView.prefix(Self.signature.count - head.count)
        guard Self.signature.starts(with: head) else { throw Self.notJPEG }
        try store.checkSpace(for: count)
        try bytes.withUnsafeReadableBytes { bytes in
            try file.write(bytes, at: size)
            digest.update(bytes)
        }
        size += count
    }

    /// Renames the complete file to its final name.
    func finish() throws {
        guard head == Self.signature else { throw Self.notJPEG }
        if store.synchronizes { try file.finishWriting() }
        let name = Self.name(of: token)
        try store.portraits.rename(name + ".part", into: store.portraits, as: name)
    }

    func discard() {
        try? store.portraits.remove(Self.name(of: token) + ".part")
    }

    static let tooLarge = Refusal.tooLarge("A portrait may have at most \(largest) bytes.")
    private static let notJPEG = Refusal(status: .unsupportedMediaType, message: "The portrait must be a JPEG.")
}
