/// One content on its way to the server, for every path that holds it.
struct Upload: Equatable, Sendable {
    /// What an upload is doing. Where it may go on from is not kept but derived, see `UploadMachine.rest`.
    enum Phase: Equatable, Sendable {
        /// Wants an id from the server.
        case unregistered
        /// Asking for an id.
        case registering
        /// Has an id, wants a slot.
        case ready
        /// Has a slot, asking the server how far it has got.
        case resuming
        /// Has a slot, fragments are on their way.
        case sending
        /// All fragments acknowledged; to be asked about when the time has come.
        case verifying(notBefore: MonotonicTime)
        /// Asking whether it is finished.
        case asking
        /// Waiting for the next attempt after a failure.
        case waiting(until: MonotonicTime)
        /// Every path that waits for it is paused.
        case held
    }

    /// One path that waits for the content.
    struct Waiter: Equatable, Sendable {
        var paused: Bool
        /// Whether it came when the upload was there already.
        var joinedLater: Bool
    }

    var record: UploadRecord
    var phase: Phase
    var waiters: [RelativePath: Waiter]
    var acknowledged = FragmentSet()
    var receipts: [Int: String] = [:]
    /// Fragments on their way and the requests that carry them.
    var inFlight: [Int: RequestID] = [:]
    /// The first fragment that may still be unsent.
    var cursor = 0
    /// Bytes of the first missing fragment that the server has already (in-order protocols).
    var partial: UInt32 = 0
    /// The server must be asked how far it has got before anything is sent.
    var mustResume = false
    /// The server had confirmed the content, and is only asked whether it still has it.
    var isVerification = false
    /// Goes into a request of its own, because a batch it was in was refused as a whole.
    var alone = false
    /// Failures in a row.
    var failures = 0
    /// How often the server forgot it in this run.
    var timesForgotten = 0
    /// How often it was asked about while the server was assembling.
    var questions = 0
    /// Fragments acknowledged since it got its slot.
    var turn = 0
    /// A fragment of it has been sent in this run or an earlier one.
    var started = false
    var error: FileError?
    var nextAttemptAt: WallTime?
    var lastProgress: MonotonicTime

    var key: ContentKey { record.key }
    var isComplete: Bool { acknowledged.count >= record.plan.count }
    var isHeld: Bool { waiters.values.allSatisfy(\.paused) }

    var holdsSlot: Bool {
        switch phase {
        case .sending, .resuming: true
        default: false
        }
    }

    /// Uploads of at most so many fragments count as small when slots are shared out.
    static let smallFragments = 16
    var isSmall: Bool { record.plan.count <= Self.smallFragments }

    /// The next fragment to be sent; nil when all are acknowledged or on their way.
    mutating func nextFragment() -> Int? {
        cursor = acknowledged.firstMissing(from: cursor)
        var index = cursor
        while index < record.plan.count, inFlight[index] != nil {
            index = acknowledged.firstMissing(from: index + 1)
        }
        return index < record.plan.count ? index : nil
    }

    /// The page of the fragment states that a fragment belongs to, as it is stored.
    func page(of fragment: Int) -> FragmentPage {
        FragmentPage(of: fragment, in: acknowledged, receipts: receipts)
    }

    /// The server has lost what it had confirmed: from now on this is an upload like any other.
    mutating func endVerification() {
        guard isVerification else { return }
        isVerification = false
        findFirst()
    }

    /// Where those who were first have left, the content is sent for one of those who joined later.
    mutating func findFirst() {
        guard !isVerification, waiters.values.allSatisfy(\.joinedLater), let first = waiters.keys.min() else { return }
        waiters[first]?.joinedLater = false
    }

    /// Forgets every fragment: all of them must be sent again.
    mutating func forgetFragments() {
        acknowledged = FragmentSet()
        receipts = [:]
        cursor = 0
        partial = 0
    }

    /// Bytes the server acknowledged.
    var acknowledgedBytes: UInt64 {
        let plan = record.plan
        guard plan.count > 0 else { return 0 }
        let full = UInt64(acknowledged.count) * UInt64(plan.fragmentSize)
        let last = plan.range(of: plan.count - 1)
        let short = UInt64(plan.fragmentSize) - UInt64(last.count)
        return min(plan.size, (acknowledged.contains(plan.count - 1) ? full - short : full) + UInt64(partial))
    }
}
