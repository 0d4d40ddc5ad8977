/// One content on its way to the server, on behalf of every path that has the content.
struct Upload: Equatable, Sendable {
    /// The activity of an upload. `UploadMachine.rest` derives the phase to continue from; nothing stores it.
    enum Phase: Equatable, Sendable {
        /// Needs an id from the server.
        case unregistered
        /// Requesting an id.
        case registering
        /// Has an id, waits for a slot.
        case ready
        /// Has a slot, asks the server how much it has.
        case resuming
        /// Has a slot, sends fragments.
        case sending
        /// All fragments are acknowledged. The next question to the server is due at `notBefore`.
        case verifying(notBefore: MonotonicTime)
        /// Asking the server whether the upload is finished.
        case asking
        /// Waiting for the next attempt after a failure.
        case waiting(until: MonotonicTime)
        /// All waiters are paused.
        case held
    }

    /// One path that waits for the upload.
    struct Waiter: Equatable, Sendable {
        var paused: Bool
        /// Whether the path joined an existing upload.
        var joinedLater: Bool
    }

    /// The kind of a request that failed for this upload only, and the code of its error.
    struct OwnFailure: Equatable, Sendable {
        var kind: RequestKind
        var code: String
    }

    /// A failed request of the upload.
    struct Setback: Equatable, Sendable {
        var kind: RequestKind
        var begun: MonotonicTime
        var at: MonotonicTime
        /// The fragment that the request carried.
        var fragment: Int?
        /// Whether an answer came, and may be about the content of the request.
        var isRefusal: Bool
        /// Whether somebody must fix the cause.
        var isLasting: Bool
        /// Whether the server takes other uploads, and refuses this one.
        var isOwn = false
        /// The last failure that was this upload's own, even if another came since.
        var ownFailure: OwnFailure?

        /// Whether this refused a fragment, and an answer to another fragment says nothing about it.
        func isAbout(otherThan fragment: Int) -> Bool { isRefusal && self.fragment.map { $0 != fragment } ?? false }
    }

    var record: UploadRecord
    var phase: Phase
    var waiters: [RelativePath: Waiter]
    var acknowledged = FragmentSet()
    var receipts: [Int: String] = [:]
    /// Fragments in flight and the requests that carry them.
    var inFlight: [Int: RequestID] = [:]
    /// The first fragment that may still be unsent.
    var cursor = 0
    /// The number of bytes of the first missing fragment that the server already has (in-order protocols). While the
    /// fragment is under way, the bytes that the other end of the connection acknowledged count too.
    var partial: UInt32 = 0
    /// The highest offset that the server stated since the registration (protocols that ask before they resume).
    var stated: UInt64 = 0
    /// The highest offset that the upload reached since the registration, stated or not.
    var farthest: UInt64 = 0
    /// Whether to ask the server how much it has before sending anything.
    var mustResume = false
    /// Whether the server confirmed the content earlier and is only asked whether it still has the content.
    var isVerification = false
    /// Whether the upload goes into a request of its own, because the server refused a batch that contained it.
    var alone = false
    /// Consecutive failures.
    var failures = 0
    /// The last of these failures; nil after a success.
    var setback: Setback?
    /// How often the upload was out of step with the server since the server last stated a higher offset.
    var timesOutOfStep = 0
    /// How often the server forgot the upload in this run.
    var timesForgotten = 0
    /// How often the server answered that assembly is not finished.
    var questions = 0
    /// Bytes acknowledged since the upload got its slot.
    var turn: UInt64 = 0
    /// Whether any fragment was sent, in this run or earlier.
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

    /// Uploads of at most this many bytes count as small in the allocation of slots, whatever the protocol's fragments.
    static let smallSize: UInt64 = 8 << 20
    var isSmall: Bool { record.plan.size <= Self.smallSize }

    /// The size in bytes from which on an upload takes a whole slot.
    static let slotSize: UInt64 = 512 << 10
    /// The share of a slot that an upload of at least `slotSize` takes.
    static let wholeSlot = 1024
    /// The share of a slot that the upload takes. A smaller file takes less than a slot, so that round trips don't limit
    /// how many bytes are in flight.
    var slotShare: Int { Int(min(record.plan.size, Self.slotSize)) * Self.wholeSlot / Int(Self.slotSize) }

    /// Returns the next fragment to send, and how many of its bytes the server has; nil if all are acknowledged or in
    /// flight.
    mutating func nextFragment() -> (index: Int, skip: UInt32)? {
        cursor = acknowledged.firstMissing(from: cursor)
        var index = cursor
        while index < record.plan.count, inFlight[index] != nil {
            index = acknowledged.firstMissing(from: index + 1)
        }
        guard index < record.plan.count else { return nil }
        return (index, partial > 0 && index == acknowledged.firstMissing() ? partial : 0)
    }

    /// Records that a request carries a fragment.
    ///
    /// - Returns: the number of fragments in flight.
    mutating func begin(_ fragment: Int, _ id: RequestID) -> Int {
        inFlight[fragment] = id
        started = true
        return inFlight.count
    }

    /// Returns the stored page of fragment states that contains a fragment.
    func page(of fragment: Int) -> FragmentPage {
        FragmentPage(of: fragment, in: acknowledged, receipts: receipts)
    }

    /// Turns a verification into an ordinary upload because the server lost the confirmed content.
    mutating func endVerification() {
        guard isVerification else { return }
        isVerification = false
        findFirst()
    }

    /// If every waiter joined later, marks one of them as the first: the content is now sent on its behalf.
    mutating func findFirst() {
        guard !isVerification, waiters.values.allSatisfy(\.joinedLater), let first = waiters.keys.min() else { return }
        waiters[first]?.joinedLater = false
    }

    /// Starts the pauses over.
    mutating func forgetFailures() { (failures, setback) = (0, nil) }

    /// Marks all fragments as unsent.
    mutating func forgetFragments() {
        acknowledged = FragmentSet()
        receipts = [:]
        cursor = 0
        partial = 0
    }

    /// Records how much of the upload the server has by its own statement.
    ///
    /// - Returns: whether this is more than the server ever stated before.
    @discardableResult
    mutating func recordStatement(_ offset: UInt64) -> Bool {
        farthest = max(farthest, offset)
        guard offset > stated else { return false }
        stated = offset
        return true
    }

    /// The number of bytes that the server acknowledged.
    var acknowledgedBytes: UInt64 {
        min(record.plan.size, record.plan.bytes(in: acknowledged) + UInt64(partial))
    }
}
