/// What the ledger keeps of one upload; its fragments' states and its blocks' digests stand in pages of their own.
public struct UploadRecord: Equatable, Sendable {
    /// The content's key.
    public var key: ContentKey
    /// Size and digest that a path must agree in before it joins.
    public var seal: ContentSeal
    /// How the content is cut; fixed once the upload has started.
    public var plan: FragmentPlan
    /// The server and account it goes to.
    public var scope: RemoteScope
    /// The server's id for it; nil before it is registered.
    public var remoteID: String?
    /// How often the server could not assemble these bytes.
    public var assemblyFailures: Int
    /// How many attempts were begun, the first included.
    public var attempts: Int
    /// Place in the queue: lower goes first.
    public var order: Int64
    /// What the server compares before it calls the content existing; nil where it was not computed.
    public var sha256: StrongDigest?

    /// An upload that has not begun.
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

/// That a server has a content: what makes a second upload needless.
public struct Confirmation: Equatable, Sendable {
    /// The content's key.
    public var key: ContentKey
    /// Size and digest that a path must agree in to rely on it.
    public var seal: ContentSeal
    /// The server and account that confirmed it.
    public var scope: RemoteScope
    /// The server's names for it.
    public var remote: RemoteObject
    /// When it was confirmed.
    public var confirmedAt: WallTime
    /// Whether nothing was sent, and the server recognised the content by MD5 and size alone. MD5 can be forged, so no file
    /// is moved or deleted on the word of such a confirmation.
    public var isByMD5Alone = false

    /// Puts a confirmation together.
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

/// One page of an upload's fragment states: small enough that an acknowledgement rewrites little.
public struct FragmentPage: Equatable, Sendable {
    /// Fragments in one page: 4096, a bitmap of 512 bytes.
    public static let fragments = 4096
    /// Number of the page; it starts with fragment `index × 4096`.
    public var index: Int
    /// The page's part of the bitmap of acknowledged fragments, at most 64 words.
    public var words: [UInt64]
    /// What the server gave for each fragment and wants back at the end (S3: the part's ETag), by fragment index;
    /// empty for protocols that have no such thing.
    public var receipts: [Int: String]

    /// Puts a page together.
    public init(index: Int, words: [UInt64], receipts: [Int: String] = [:]) {
        self.index = index
        self.words = words
        self.receipts = receipts
    }

    /// The page that a fragment belongs to.
    ///
    /// - Parameters:
    ///   - fragment: index of the fragment.
    ///   - acknowledged: all fragments the server acknowledged.
    ///   - receipts: what it gave for them.
    public init(of fragment: Int, in acknowledged: FragmentSet, receipts: [Int: String]) {
        let index = fragment / Self.fragments
        let range = index * Self.fragments..<(index + 1) * Self.fragments
        let words = acknowledged.words.dropFirst(range.lowerBound / 64).prefix(Self.fragments / 64)
        let mine = receipts.isEmpty ? [:] : receipts.filter { range.contains($0.key) }
        self.init(index: index, words: Array(words), receipts: mine)
    }
}
