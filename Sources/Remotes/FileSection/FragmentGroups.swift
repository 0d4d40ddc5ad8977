import Synchronization
import UploadCore

/// Groups the fragments of small files, so that one request brings several of them to a server that supports this.
///
/// A request for each file costs both sides more than the 64 KiB of a small picture. A group holds no more bytes than one
/// large fragment, so a link that breaks costs no more than otherwise.
///
/// Fragments that come while no request is under way are sent at once. Others wait until they make up half of all
/// fragments waiting or under way, but not for long: a larger group would leave the link idle while the server answers.
/// Over a long link, where processors hardly matter, an eighth is enough: more connections at once carry more, because a
/// lost packet slows down only its own.
final class FragmentGroups: Sendable {
    typealias Outcome = Result<Void, RemoteFailure>

    /// The largest number of bytes in a group.
    static let mostBytes: UInt64 = 512 << 10
    /// The largest number of fragments in a group. Their ids make up a header field, which proxies limit.
    static let mostMembers = 16
    /// A fragment with more bytes gains nothing from a group.
    static let largestMember: UInt64 = 128 << 10

    /// A link is long if no request takes less.
    static let longTime = Duration.milliseconds(20)
    /// The time between a failed request and the next one.
    private static let pause = Duration.milliseconds(100)
    /// How long the time of the fastest request counts. The network may change.
    private static let fastestLifetime = Duration.seconds(600)

    private typealias Waiter = CheckedContinuation<Outcome, Never>

    private struct Member {
        let number: UInt64
        let fragment: OutgoingFragment
        let waiter: Waiter
    }

    private struct Request {
        /// The callers that were not cancelled, by the numbers of their fragments.
        var waiters: [UInt64: Waiter]
        let task: Task<Void, Never>
    }

    private struct State {
        /// How many fragments the server takes in a request.
        var most = 1
        var waiting: [Member] = []
        /// Whether a task will look at `waiting`.
        var isBeginning = false
        /// Whether a task will look at `waiting` after a while.
        var isTimed = false
        /// The requests under way, by the number of their first fragment.
        var requests: [UInt64: Request] = [:]
        var newest: UInt64 = 0
        /// The time of the fastest request, and when it counts no longer.
        var fastest: (took: Duration, until: ContinuousClock.Instant)?
    }

    private let state = Mutex(State())
    private let executor: (any TaskExecutor)?
    private let longestWait: Duration

    /// - Parameters:
    ///   - executor: runs the requests.
    ///   - longestWait: how long a fragment waits for others at most.
    init(executor: (any TaskExecutor)?, longestWait: Duration = .milliseconds(100)) {
        self.executor = executor
        self.longestWait = longestWait
    }

    /// Learns how many fragments the server takes in a request.
    func setMost(_ most: Int) { state.withLock { $0.most = min(max(1, most), Self.mostMembers) } }

    /// Learns how long a request took.
    func record(_ took: Duration) {
        let now = ContinuousClock.now
        state.withLock { state in
            if let fastest = state.fastest, fastest.took <= took, now < fastest.until { return }
            state.fastest = (took, now + Self.fastestLifetime)
        }
    }

    /// Whether ``send(_:by:)`` may send this fragment together with others.
    func takes(_ fragment: OutgoingFragment) -> Bool {
        fragment.upload.plan.count == 1 && fragment.body.length <= Self.largestMember && state.withLock { $0.most > 1 }
    }

    /// Sends a fragment, if possible together with others that come at the same time.
    ///
    /// - Parameter request: sends some fragments in one request. Every caller must pass the same closure.
    func send(
        _ fragment: OutgoingFragment, by request: @escaping @Sendable ([OutgoingFragment]) async -> Outcome
    ) async -> Outcome {
        let number = state.withLock { state in
            state.newest += 1
            return state.newest
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let isFirst = state.withLock { state in
                    state.waiting.append(Member(number: number, fragment: fragment, waiter: waiter))
                    defer { state.isBeginning = true }
                    return !state.isBeginning
                }
                // Callers that the executor has already queued join the group.
                if isFirst { Task(executorPreference: executor) { self.begin(request) } }
                // A cancellation before this fragment was waiting found nothing.
                if Task.isCancelled { cancel(number) }
            }
        } onCancel: {
            cancel(number)
        }
    }

    /// Begins requests with the waiting fragments.
    ///
    /// - Parameter isOverdue: whether no fragment may wait any longer.
    private func begin(
        _ request: @escaping @Sendable ([OutgoingFragment]) async -> Outcome, isOverdue: Bool = false
    ) {
        state.withLock { state in
            state.isBeginning = false
            while let members = Self.takeGroup(from: &state, isOverdue: isOverdue) {
                let number = members[0].number
                let task = Task(executorPreference: executor) { await self.send(members, request) }
                let waiters = Dictionary(uniqueKeysWithValues: members.map { ($0.number, $0.waiter) })
                state.requests[number] = Request(waiters: waiters, task: task)
            }
            if !state.waiting.isEmpty { beginLater(request, &state) }
        }
    }

    /// Sends what still waits after a while. The requests under way may hang.
    private func beginLater(
        _ request: @escaping @Sendable ([OutgoingFragment]) async -> Outcome, _ state: inout State
    ) {
        if state.isTimed { return }
        state.isTimed = true
        Task(executorPreference: executor) {
            try? await Task.sleep(for: self.longestWait)
            self.state.withLock { $0.isTimed = false }
            self.begin(request, isOverdue: true)
        }
    }

    /// Removes and returns the members of the next request; nil while they should wait for others.
    private static func takeGroup(from state: inout State, isOverdue: Bool) -> [Member]? {
        let underWay = state.requests.values.reduce(0) { $0 + $1.waiters.count }
        let count = groupSize(
            state.waiting.map(\.fragment.body.length), most: state.most, underWay: isOverdue ? 0 : underWay,
            isLong: state.fastest.map { $0.took >= longTime } ?? true)
        if count == 0 { return nil }
        defer { state.waiting.removeFirst(count) }
        return Array(state.waiting.prefix(count))
    }

    /// Returns how many of the waiting fragments to send in one request now.
    ///
    /// - Parameters:
    ///   - sizes: the sizes of the waiting fragments in bytes, oldest first.
    ///   - most: how many fragments the server takes in a request.
    ///   - underWay: the number of fragments under way.
    ///   - isLong: whether the link is long.
    static func groupSize(_ sizes: [UInt64], most: Int, underWay: Int, isLong: Bool) -> Int {
        let target = min(most, max(1, (sizes.count + underWay) / (isLong ? 8 : 2)))
        var bytes: UInt64 = 0
        let count = sizes.prefix(target).prefix { size in
            bytes += size
            return bytes <= mostBytes
        }.count
        let isFull = count == target || count < sizes.count
        return isFull || underWay == 0 ? count : 0
    }

    /// Sends fragments together. If the server refuses them, or the bytes of one are unavailable, sends each alone, so
    /// that only those fail that are to blame.
    private func send(
        _ members: [Member], _ request: @escaping @Sendable ([OutgoingFragment]) async -> Outcome
    ) async {
        let number = members[0].number
        let start = ContinuousClock.now
        var outcome = await request(members.map(\.fragment))
        if case .success = outcome { record(.now - start) }
        if members.count > 1, case .failure(let failure) = outcome, mayConcernOne(failure, of: members) {
            // The server may refuse each group.
            if case .permanent = failure { setMost(1) }
            for member in members where isWanted(member, in: number) {
                member.fragment.body.rewind()
                outcome = await request([member.fragment])
                takeWaiter(of: member, in: number)?.resume(returning: outcome)
                // The server or the link is to blame: the others must wait, too.
                if case .failure(let failure) = outcome, !Self.concernsOne(failure) { break }
            }
        }
        let rest = state.withLock { $0.requests.removeValue(forKey: number)?.waiters ?? [:] }
        for waiter in rest.values { waiter.resume(returning: outcome) }
        // The upload machine hears of trouble with the server first.
        if case .failure(let failure) = outcome, !Self.concernsOne(failure) { try? await Task.sleep(for: Self.pause) }
        begin(request)
    }

    private static func concernsOne(_ failure: RemoteFailure) -> Bool {
        switch failure {
        case .forgotten, .permanent, .source, .outOfStep, .busyUpload: true
        case .temporary, .signedOut, .cancelled: false
        }
    }

    /// Whether a failure may concern one fragment. The server can't take one that was cancelled and is sent anew.
    private func mayConcernOne(_ failure: RemoteFailure, of members: [Member]) -> Bool {
        if Self.concernsOne(failure) { return true }
        guard case .temporary = failure else { return false }
        return state.withLock { $0.requests[members[0].number]?.waiters.count ?? 0 } < members.count
    }

    private func isWanted(_ member: Member, in request: UInt64) -> Bool {
        state.withLock { $0.requests[request]?.waiters[member.number] != nil }
    }

    private func takeWaiter(of member: Member, in request: UInt64) -> Waiter? {
        state.withLock { $0.requests[request]?.waiters.removeValue(forKey: member.number) }
    }

    /// Gives up a fragment. A request goes on while somebody waits for another of its fragments.
    private func cancel(_ number: UInt64) {
        let waiter: Waiter? = state.withLock { state in
            if let index = state.waiting.firstIndex(where: { $0.number == number }) {
                return state.waiting.remove(at: index).waiter
            }
            for (first, request) in state.requests {
                guard let waiter = request.waiters[number] else { continue }
                state.requests[first]?.waiters[number] = nil
                if request.waiters.count == 1 { request.task.cancel() }
                return waiter
            }
            return nil
        }
        waiter?.resume(returning: .failure(.cancelled))
    }
}
