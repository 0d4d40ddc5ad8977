/// The ledger's record of one upload. Fragment states and block digests are in separate pages.
public struct UploadRecord: Equatable, Sendable {
    /// The content's key.
    public var key: ContentKey
    /// Size and digest. A path must match both before it joins.
    public var seal: ContentSeal
    /// The division into fragments; fixed once the upload has started.
    public var plan: FragmentPlan
    /// The server and account that receive the upload.
    public var scope: RemoteScope
    /// What the server knows the upload by; nil before the registration.
    public var handle: RemoteHandle?
    /// How often the server failed to assemble these bytes.
    public var assemblyFailures: Int
    /// The number of attempts begun, including the first.
    public var attempts: Int
    /// The place in the queue; lower goes first.
    public var order: Int64
    /// The digest that the server compares before it reports the content as existing; nil if not computed.
    public var sha256: StrongDigest?

    /// Creates an upload that has not begun.
    public init(key: ContentKey, seal: ContentSeal, plan: FragmentPlan, scope: RemoteScope, order: Int64) {
        self.key = key
        self.seal = seal
        self.plan = plan
        self.scope = scope
        self.order = order
        assemblyFailures = 0
        attempts = 0
    }
}

/// The server's confirmation of a content, which makes a second upload unnecessary.
public struct Confirmation: Equatable, Sendable {
    /// The content's key.
    public var key: ContentKey
    /// Size and digest. A path must match both to rely on the confirmation.
    public var seal: ContentSeal
    /// The server and account of the confirmation.
    public var scope: RemoteScope
    /// The server's names for the content.
    public var remote: RemoteObject
    /// When the server confirmed the content.
    public var confirmedAt: WallTime
    /// Whether nothing was sent and the server recognised the content by MD5 and size alone. MD5 can be forged, so the
    /// agent moves or deletes no file because of such a confirmation.
    public var isByMD5Alone = false

    /// Creates a confirmation.
    public init(
        key: ContentKey, seal: ContentSeal, scope: RemoteScope, remote: RemoteObject, confirmedAt: WallTime
    ) {
        self.key = key
        self.seal = seal
        self.scope = scope
        self.remote = remote
        self.confirmedAt = confirmedAt
    }
}

/// One page of an upload's fragment states, small enough to make an acknowledgement cheap to store.
public struct FragmentPage: Equatable, Sendable {
    /// The number of fragments in one page: 4096, a bitmap of 512 bytes.
    public static let fragments = 4096
    /// The number of the page, which starts with fragment `index × 4096`.
    public var index: Int
    /// The page's part of the bitmap of acknowledged fragments, at most 64 words.
    public var words: [UInt64]
    /// The server's receipts, by fragment index, which the protocol returns at the end (S3: the part's ETag). Empty for
    /// protocols without receipts.
    public var receipts: [Int: String]

    /// Creates a page.
    public init(index: Int, words: [UInt64], receipts: [Int: String] = [:]) {
        self.index = index
        self.words = words
        self.receipts = receipts
    }

    /// Creates the page that contains a fragment.
    ///
    /// - Parameters:
    ///   - fragment: the index of the fragment.
    ///   - acknowledged: all fragments that the server acknowledged.
    ///   - receipts: the server's receipts for fragments.
    public init(of fragment: Int, in acknowledged: FragmentSet, receipts: [Int: String]) {
        let index = fragment / Self.fragments
        let range = index * Self.fragments..<(index + 1) * Self.fragments
        let words = acknowledged.words.dropFirst(range.lowerBound / 64).prefix(Self.fragments / 64)
        let mine = receipts.isEmpty ? [:] : receipts.filter { range.contains($0.key) }
        self.init(index: index, words: Array(words), receipts: mine)
    }
}
