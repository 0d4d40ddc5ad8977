/// How much may be under way at once, and how long to wait (`[upload]` of the configuration).
public struct UploadLimits: Equatable, Sendable {
    /// Files whose fragments are on their way at once; at least 1.
    public var filesInFlight: Int
    /// Fragments of one file on their way at once; at least 1.
    public var fragmentsInFlight: Int
    /// Ceiling of the backoff between attempts.
    public var retryInterval: Duration
    /// How long an upload may make no progress before it fails; nil for ever.
    public var fileTimeout: Duration?

    /// Sets the limits; counts under 1 are taken as 1, a `fileTimeout` of 0 as none.
    public init(filesInFlight: Int, fragmentsInFlight: Int, retryInterval: Duration, fileTimeout: Duration? = nil) {
        self.filesInFlight = max(1, filesInFlight)
        self.fragmentsInFlight = max(1, fragmentsInFlight)
        self.retryInterval = retryInterval
        self.fileTimeout = fileTimeout.flatMap { $0 > .zero ? $0 : nil }
    }
}

/// What a protocol can do, as far as scheduling depends on it.
public struct RemoteTraits: Equatable, Sendable {
    /// Uploads in one register or finish request: 50 with fileSection, 1 with tus and S3.
    public var batch: Int
    /// Fragments must arrive one after the other from the server's offset on (tus).
    public var inOrder: Bool
    /// After an interruption the server is asked how far it has got before anything is sent (tus).
    public var asksBeforeResuming: Bool
    /// Size of a fragment in bytes for a content of the given size, a multiple of 512 KiB.
    public var fragmentSize: UInt32
    /// Most fragments an upload may have; fragments grow until it fits (S3: 10,000). Nil for no limit.
    public var maximumFragments: Int?

    /// Describes a protocol.
    public init(
        batch: Int, inOrder: Bool = false, asksBeforeResuming: Bool = false,
        fragmentSize: UInt32 = FragmentPlan.sectionSize, maximumFragments: Int? = nil
    ) {
        self.batch = max(1, batch)
        self.inOrder = inOrder
        self.asksBeforeResuming = asksBeforeResuming
        self.fragmentSize = fragmentSize
        self.maximumFragments = maximumFragments
    }

    /// How a content of this size is cut: fragments double until there are few enough.
    public func plan(for size: UInt64) -> FragmentPlan {
        var plan = FragmentPlan(size: size, fragmentSize: fragmentSize)
        while let most = maximumFragments, plan.count > most, plan.fragmentSize < 1 << 31 {
            plan = FragmentPlan(size: size, fragmentSize: plan.fragmentSize * 2)
        }
        return plan
    }
}
