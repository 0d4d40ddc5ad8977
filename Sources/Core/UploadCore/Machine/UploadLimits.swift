/// Limits for concurrency and waiting (`[upload]` of the configuration).
public struct UploadLimits: Equatable, Sendable {
    /// The number of files sent at once; at least 1. A file below 512 KiB counts only by its size: eight files of 64 KiB are
    /// one file of 512 KiB.
    public var filesInFlight: Int
    /// The number of fragments of one file in flight at once; at least 1. Nil: as many as the link needs.
    public var fragmentsInFlight: Int?
    /// The ceiling of the backoff between attempts.
    public var retryInterval: Duration
    /// How long an upload may go without progress before it fails; nil for ever.
    public var fileTimeout: Duration?

    /// The maximum number of fragments in flight if `fragmentsInFlight` is nil. With fragments of 512 KiB these are
    /// 16 MiB, enough for 1 Gbit/s over 100 ms.
    public static let automaticMost = 32

    /// The maximum number of fragments in flight over all files. A kill of the agent repeats at most as many.
    public var mostFragments: Int {
        guard let fragmentsInFlight else { return max(Self.automaticMost, filesInFlight) }
        let (product, overflow) = filesInFlight.multipliedReportingOverflow(by: fragmentsInFlight)
        return overflow ? .max : product
    }

    /// Creates limits. Raises counts below 1 to 1; a `fileTimeout` of 0 means none.
    public init(filesInFlight: Int, fragmentsInFlight: Int?, retryInterval: Duration, fileTimeout: Duration? = nil) {
        self.filesInFlight = max(1, filesInFlight)
        self.fragmentsInFlight = fragmentsInFlight.map { max(1, $0) }
        self.retryInterval = retryInterval
        self.fileTimeout = fileTimeout.flatMap { $0 > .zero ? $0 : nil }
    }
}

/// The properties of a protocol that scheduling depends on.
public struct RemoteTraits: Equatable, Sendable {
    /// The number of uploads in one register or finish request: 50 with fileSection, 1 with tus and S3.
    public var batch: Int
    /// How many uploads are registered ahead of free slots, so that small files go in batches: 50 with fileSection. Never
    /// fewer than the files in flight; 0 asks for no more large uploads than these, because open uploads cost money (S3) or
    /// expire (tus).
    public var lookahead: Int
    /// Whether fragments must arrive one after the other from the server's offset on (tus).
    public var inOrder: Bool
    /// Whether to ask the server how much it has before sending after an interruption (tus).
    public var asksBeforeResuming: Bool
    /// Whether to ask the server which fragments of an incomplete upload it has after a restart (S3).
    public var asksAfterRestart: Bool
    /// The default size of a fragment in bytes, a multiple of `ContentSeal.blockSize`; rounded up to one.
    public var fragmentSize: UInt32
    /// The maximum number of fragments per upload; fragments grow to respect it (S3: 10,000). Nil for no limit.
    public var maximumFragments: Int?

    /// Describes a protocol.
    public init(
        batch: Int, lookahead: Int = 0, inOrder: Bool = false, asksBeforeResuming: Bool = false,
        asksAfterRestart: Bool = false, fragmentSize: UInt32 = FragmentPlan.sectionSize, maximumFragments: Int? = nil
    ) {
        self.batch = max(1, batch)
        self.lookahead = lookahead
        self.inOrder = inOrder
        self.asksBeforeResuming = asksBeforeResuming
        self.asksAfterRestart = asksAfterRestart
        // A fragment is checked while it is sent, so it must not end within a block.
        let block = ContentSeal.blockSize
        self.fragmentSize = max(1, fragmentSize / block + (fragmentSize % block == 0 ? 0 : 1)) * block
        self.maximumFragments = maximumFragments
    }

    /// Returns the division of a content of this size. The fragment size doubles until there are few enough fragments.
    public func plan(for size: UInt64) -> FragmentPlan {
        var plan = FragmentPlan(size: size, fragmentSize: fragmentSize)
        while let most = maximumFragments, plan.count > most, plan.fragmentSize < 1 << 31 {
            plan = FragmentPlan(size: size, fragmentSize: plan.fragmentSize * 2)
        }
        return plan
    }
}
