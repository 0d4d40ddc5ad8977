import Synchronization
public import UploadCore

/// The digests of one part of a content, as a protocol wants them before the part's bytes.
public struct PartDigests: Equatable, Sendable {
    /// Nil if not computed.
    public var md5: [UInt8]?
    /// Nil if not computed.
    public var sha256: [UInt8]?

    /// Creates digests.
    public init(md5: [UInt8]? = nil, sha256: [UInt8]? = nil) {
        self.md5 = md5
        self.sha256 = sha256
    }
}

/// The digests of parts from the pass that computes the content's key, until the content is sent. So the bytes are not
/// digested again before they are sent.
///
/// In memory and bounded. The remote computes missing digests from the file, such as after a restart.
public final class PartDigestStore: Sendable {
    /// Which digests to compute for a content.
    public struct Wish: Equatable, Sendable {
        /// The size of every part but the last, in bytes.
        var partSize: UInt64
        /// Whether the content is one part, so that its digests are those of the part.
        var isOnePart: Bool
        var md5: Bool
        var sha256: Bool
    }

    /// The largest number of parts in the store. A full store takes no further contents: those in it are sent first.
    static let mostParts = 16_384

    private struct Content {
        var digests: [PartDigests]
        /// The number of the newest content when this one was stored or last read.
        var used: UInt64
    }

    private struct State {
        var contents: [ContentKey: Content] = [:]
        var parts = 0
        /// The number of the newest content.
        var newest: UInt64 = 0
        /// The highest number of a content that was sent and left.
        var farthest: UInt64 = 0
        /// `farthest` when contents were last searched for those that nobody sends.
        var searched: UInt64 = 0
    }

    private let traits: RemoteTraits
    private let md5: Bool
    /// Whether parts need a SHA-256.
    public let sha256: Bool
    private let state = Mutex(State())

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - traits: the protocol that divides contents into parts.
    ///   - md5: whether parts need an MD5. That of a content in one part is its key.
    ///   - sha256: whether parts need a SHA-256.
    public init(_ traits: RemoteTraits, md5: Bool, sha256: Bool) {
        self.traits = traits
        self.md5 = md5
        self.sha256 = sha256
    }

    /// Returns what to compute for a content of this size; nil for nothing.
    public func wish(forSize size: UInt64) -> Wish? {
        let plan = traits.plan(for: size)
        let wish = Wish(
            partSize: UInt64(plan.fragmentSize), isOnePart: plan.count <= 1, md5: md5 && plan.count > 1, sha256: sha256)
        return wish.md5 || wish.sha256 ? wish : nil
    }

    /// Stores the digests of all parts of a content.
    public func store(_ digests: [PartDigests], of key: ContentKey) {
        state.withLock { state in
            state.parts -= state.contents.removeValue(forKey: key)?.digests.count ?? 0
            if state.parts + digests.count > Self.mostParts { Self.dropUnsent(in: &state) }
            guard state.parts + digests.count <= Self.mostParts else { return }
            state.newest += 1
            state.parts += digests.count
            state.contents[key] = Content(digests: digests, used: state.newest)
        }
    }

    /// Drops the contents that later ones overtook. Most are never sent: the server had confirmed them before, or their
    /// files were removed.
    private static func dropUnsent(in state: inout State) {
        guard state.farthest > state.searched else { return }
        state.searched = state.farthest
        state.contents = state.contents.filter { $0.value.used > state.farthest }
        state.parts = state.contents.values.reduce(0) { $0 + $1.digests.count }
    }

    /// Returns the digests of one part; nil if they must be computed. An upload of an earlier run may have parts of another
    /// size.
    public func digests(of key: ContentKey, _ plan: FragmentPlan, part: Int) -> PartDigests? {
        guard plan == traits.plan(for: plan.size) else { return nil }
        return state.withLock { state in
            guard let digests = state.contents[key]?.digests, digests.indices.contains(part) else { return nil }
            state.contents[key]?.used = state.newest
            return digests[part]
        }
    }

    /// Drops the digests of a content.
    public func remove(_ key: ContentKey) {
        state.withLock { state in
            guard let content = state.contents.removeValue(forKey: key) else { return }
            state.parts -= content.digests.count
            state.farthest = max(state.farthest, content.used)
        }
    }
}
