import LinuxSystem
import Synchronization
import UploadCore

/// Groups fragments, so that one request brings several of them to a server that supports this.
///
/// A request for each file costs both sides more than the 64 KiB of a small picture. A group of small files holds no more
/// bytes than one large fragment, so a link that breaks costs no more than otherwise.
///
/// Over a quick link, large fragments go together too, if the server announces that it takes as many bytes. A request for
/// each costs both sides a tenth of their processor time.
///
/// Fragments that come while no request is under way are sent at once. Others wait until they make up half of all
/// fragments waiting or under way, but not for long: a larger group would leave the link idle while the server answers.
/// Over a long link, where processors hardly matter, an eighth is enough: more connections at once carry more, because a
/// lost packet slows down only its own.
final class FragmentGroups: Sendable {
    typealias Outcome = Result<Void, RemoteFailure>

    /// The largest number of bytes in a group of small fragments, and in any group over a link that is not quick.
    static let usualBytes: UInt64 = 512 << 10
    /// The largest number of bytes in a group with a large fragment over a quick link, if the server takes as many.
    static let mostBytes: UInt64 = 2 << 20
    /// The largest number of fragments in a group. Their ids make up a header field, which proxies limit.
    static let mostMembers = 16
    /// A fragment with more bytes is large.
    static let largestSmall: UInt64 = 128 << 10

    /// A link is long if no request takes less.
    static let longTime = Duration.milliseconds(20)
    /// A link is quick if it carries ``usualBytes`` in less time.
    private static let quickTime = Duration.milliseconds(20)
    /// The time between a failed request and the next one.
    private static let pause = Duration.milliseconds(100)
    /// How long a measurement counts. The network may change.
    private static let lifetime = Duration.seconds(600)

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
        var mostMembers = 1
        /// How many bytes the server takes in a request of several fragments.
        var bytesTaken = FragmentGroups.usualBytes
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
        /// The bytes of all fragments in requests under way.
        var bytesUnderWay: UInt64 = 0
        /// Until when the link counts as quick.
        var quickUntil: ContinuousClock.Instant?
        /// Until when no group may hold more than ``usualBytes``, because one failed.
        var usualUntil: ContinuousClock.Instant?

        /// Whether large fragments may go together.
        var takesLarge: Bool {
            guard let quickUntil, mostMembers > 1, bytesTaken > FragmentGroups.usualBytes else { return false }
            let now = ContinuousClock.now
            return now < quickUntil && usualUntil.map { $0 <= now } ?? true
        }
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

    /// Learns what the server takes in a request.
    ///
    /// - Parameters:
    ///   - fragments: how many fragments; nil if it does not say.
    ///   - bytes: how many bytes of several fragments; nil if it does not say.
    func setMost(fragments: Int?, bytes: Int?) {
        state.withLock { state in
            state.mostMembers = min(max(1, fragments ?? 1), Self.mostMembers)
            state.bytesTaken = bytes.map { min(UInt64(max(0, $0)), Self.mostBytes) } ?? Self.usualBytes
        }
    }

    /// Whether this fragment may go together with others now.
    func takes(_ fragment: OutgoingFragment) -> Bool {
        let length = fragment.body.length
        let isSmallFile = fragment.upload.plan.count == 1 && length <= Self.largestSmall
        return state.withLock { state in
            if state.takesLarge { return length <= state.bytesTaken / 2 }
            return isSmallFile && state.mostMembers > 1 && length <= state.bytesTaken / 2
        }
    }

    /// Sends a fragment, if possible together with others that come at the same time.
    ///
    /// - Parameter request: sends some fragments in one request. Every caller must pass the same closure.
    func send(
        _ fragment: OutgoingFragment, by request: @escaping @Sendable ([OutgoingFragment]) async -> Outcome
    ) async -> Outcome {
        guard takes(fragment) else { return await measure([fragment], request) }
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
            try? await Timers.sleep(for: self.longestWait)
            self.state.withLock { $0.isTimed = false }
            self.begin(request, isOverdue: true)
        }
    }

    /// Removes and returns the members of the next request; nil while they should wait for others.
    private static func takeGroup(from state: inout State, isOverdue: Bool) -> [Member]? {
        let underWay = state.requests.values.reduce(0) { $0 + $1.waiters.count }
        let sizes = state.waiting.map(\.fragment.body.length)
        let isLarge = state.takesLarge && sizes.contains { $0 > largestSmall }
        let count = groupSize(
            sizes, most: state.mostMembers, bytes: isLarge ? state.bytesTaken : min(state.bytesTaken, usualBytes),
            underWay: isOverdue ? 0 : underWay, isLong: state.fastest.map { $0.took >= longTime } ?? true)
        if count == 0 { return nil }
        defer { state.waiting.removeFirst(count) }
        return Array(state.waiting.prefix(count))
    }

    /// Returns how many of the waiting fragments to send in one request now.
    ///
    /// - Parameters:
    ///   - sizes: the sizes of the waiting fragments in bytes, oldest first.
    ///   - most: how many fragments a request may bring.
    ///   - bytes: how many bytes a request of several fragments may bring.
    ///   - underWay: the number of fragments under way.
    ///   - isLong: whether the link is long.
    static func groupSize(_ sizes: [UInt64], most: Int, bytes: UInt64, underWay: Int, isLong: Bool) -> Int {
        if sizes.isEmpty { return 0 }
        let target = min(most, max(1, (sizes.count + underWay) / (isLong ? 8 : 2)))
        var sum: UInt64 = 0
        let fitting = sizes.prefix(target).prefix { size in
            sum += size
            return sum <= bytes
        }.count
        // One can always go alone.
        let count = max(1, fitting)
        let isFull = count == target || count < sizes.count
        return isFull || underWay == 0 ? count : 0
    }

    /// Sends fragments together. If the server or a proxy refuses them, or the bytes of one are unavailable, sends each
    /// alone, so that only those fail that are to blame.
    private func send(
        _ members: [Member], _ request: @escaping @Sendable ([OutgoingFragment]) async -> Outcome
    ) async {
        let number = members[0].number
        let fragments = members.map(\.fragment)
        var outcome = await measure(fragments, request)
        if members.count > 1, case .failure(let failure) = outcome, mayConcernOne(failure, of: fragments, in: number) {
            // The server may refuse each group.
            if case .permanent = failure, !Self.isLarge(fragments) { state.withLock { $0.mostMembers = 1 } }
            var isSecond = false
            var failed = 0
            for member in members where isWanted(member, in: number) {
                member.fragment.body.rewind()
                outcome = await measure([member.fragment], request)
                takeWaiter(of: member, in: number)?.resume(returning: outcome)
                guard case .failure(let failure) = outcome, !Self.concernsOne(failure) else {
                    isSecond = false
                    if case .failure = outcome { failed += 1 }
                    continue
                }
                failed += 1
                // The server or the link is to blame, unless it refuses only this one: the others must wait, too.
                if isSecond || !failure.mayBeAboutContent { break }
                isSecond = true
            }
            // A proxy may take no groups of this size.
            if failed == 0, failure.mayBeAboutContent, !Self.isLarge(fragments) {
                state.withLock { $0.mostMembers = 1 }
            }
        }
        let rest = state.withLock { $0.requests.removeValue(forKey: number)?.waiters ?? [:] }
        for waiter in rest.values { waiter.resume(returning: outcome) }
        // The upload machine hears of trouble with the server first.
        if case .failure(let failure) = outcome, !Self.concernsOne(failure) { try? await Timers.sleep(for: Self.pause) }
        begin(request)
    }

    /// Makes a request, and learns from it.
    private func measure(
        _ fragments: [OutgoingFragment], _ request: @Sendable ([OutgoingFragment]) async -> Outcome
    ) async -> Outcome {
        let bytes = Self.bytes(of: fragments)
        let underWay = state.withLock { state in
            state.bytesUnderWay += bytes
            return state.bytesUnderWay
        }
        let start = ContinuousClock.now
        let outcome = await request(fragments)
        state.withLock { $0.bytesUnderWay -= bytes }
        learn(from: outcome, of: fragments, took: .now - start, underWay: underWay)
        return outcome
    }

    /// Learns from a request whether the link is long or quick, and whether large fragments may go together.
    ///
    /// - Parameter underWay: the bytes that shared the link with this request, its own included.
    func learn(from outcome: Outcome, of fragments: [OutgoingFragment], took: Duration, underWay: UInt64) {
        let now = ContinuousClock.now
        state.withLock { state in
            switch outcome {
            case .success:
                if state.fastest.map({ took < $0.took || $0.until <= now }) ?? true {
                    state.fastest = (took, now + Self.lifetime)
                }
                guard fragments.contains(where: { $0.body.length > Self.largestSmall }) else { return }
                let timeForUsualBytes = took * (Double(Self.usualBytes) / Double(underWay))
                state.quickUntil = timeForUsualBytes < Self.quickTime ? now + Self.lifetime : nil
            case .failure(.temporary), .failure(.permanent):
                state.quickUntil = nil
                if Self.isLarge(fragments) { state.usualUntil = now + Self.lifetime }
            case .failure: break
            }
        }
    }

    /// Whether only a quick link and a server that announced it may carry this group.
    private static func isLarge(_ fragments: [OutgoingFragment]) -> Bool {
        fragments.count > 1 && bytes(of: fragments) > usualBytes
    }

    private static func bytes(of fragments: [OutgoingFragment]) -> UInt64 {
        fragments.reduce(0) { $0 + $1.body.length }
    }

    private static func concernsOne(_ failure: RemoteFailure) -> Bool {
        switch failure {
        case .forgotten, .permanent, .source, .outOfStep, .busyUpload: true
        case .temporary, .signedOut, .cancelled: false
        }
    }

    /// Whether a failure may concern one fragment, or only a request with so many bytes. The server can't take a fragment
    /// that was cancelled and is sent anew.
    private func mayConcernOne(
        _ failure: RemoteFailure, of fragments: [OutgoingFragment], in request: UInt64
    ) -> Bool {
        if Self.concernsOne(failure) { return true }
        if failure.mayBeAboutContent { return true }
        guard case .temporary = failure else { return false }
        return state.withLock { $0.requests[request]?.waiters.count ?? 0 } < fragments.count
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
