import Glibc
import Synchronization
public import SystemPackage

/// Makes calls that may never return on threads of their own, so that the caller waits for a moment only.
///
/// A call on a file system whose server is gone blocks in the kernel, and nothing can end it. The caller then goes on
/// with `.timedOut`, and the thread is left behind until the call returns. Each place has a bounded number of such
/// threads. Beyond, and for a call that is still under way, calls to the place fail at once.
///
/// The result of a call that returns late is kept for a few seconds, for the caller's next attempt. So a place where
/// every call takes a second is slow, but does work.
public final class Lanes: Sendable {
    private struct Call: Hashable {
        var place: String
        var work: String
    }

    private struct State {
        var idle: [String: [LaneThread]] = [:]
        /// The calls that their callers no longer wait for.
        var late: [Call: Stalls.Activity] = [:]
        var kept: [Call: (result: any Sendable, since: UInt64)] = [:]
        var observers: [@Sendable () -> Void] = []

        func lateCount(at place: String) -> Int { late.isEmpty ? 0 : late.keys.count { $0.place == place } }

        mutating func forgetOld(after keepTime: UInt64) {
            let now = monotonicNanoseconds()
            kept = kept.filter { now - $0.value.since < keepTime }
        }
    }

    /// The lanes of one place.
    public struct Lane: Sendable {
        private let lanes: Lanes
        private let place: String

        /// Returns the lanes of a place.
        public init(_ lanes: Lanes, at place: String) { (self.lanes, self.place) = (lanes, place) }

        /// Makes a call; see ``Lanes/call(_:_:keepsResult:_:)``.
        public func call<Result: Sendable>(
            _ work: String, _ body: @escaping @Sendable () throws(Errno) -> Result
        ) throws(Errno) -> Result {
            try lanes.call(place, work, body)
        }
    }

    /// How long a caller waits.
    private static let patience: UInt64 = 250_000_000
    /// How long a caller waits while the place owes an answer to another call: together with the calls that may be late,
    /// about half a second.
    private static let impatience: UInt64 = 30_000_000
    private static let mostLatePerPlace = 8
    private static let mostLate = 64

    /// Lists the calls that have not returned.
    public let stalls: Stalls
    private let keepTime: UInt64
    private let state = Mutex(State())

    /// Creates lanes without threads.
    ///
    /// - Parameter keepTime: how long late results are kept, and idle threads stay.
    public init(stalls: Stalls = Stalls(), keepTime: Duration = .seconds(10)) {
        self.stalls = stalls
        self.keepTime = UInt64(clamping: keepTime.components.seconds) * 1_000_000_000
    }

    /// Has `body` called, on a thread that has the lock of no one, when a late call has returned.
    public func onAnswer(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.observers.append(body) } }

    /// Whether a call at a place has not returned in time.
    public func isStalled(_ place: String) -> Bool { state.withLock { $0.lateCount(at: place) > 0 } }

    /// Makes a call.
    ///
    /// - Parameters:
    ///   - place: whose threads make the call, for people: the path of a mount.
    ///   - work: identifies the call at this place, for people: "reading usb/a.bin".
    ///   - keepsResult: whether the next call may get the result of this one if it returns late. Not for a call that
    ///     changes something.
    ///   - body: may run on after this function has thrown, so it must own what it uses.
    /// - Throws: the error of the call; `.timedOut` if it does not return soon.
    public func call<Result: Sendable>(
        _ place: String, _ work: String, keepsResult: Bool = true,
        _ body: @escaping @Sendable () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        typealias Outcome = Swift.Result<Result, Errno>
        let call = Call(place: place, work: work)
        let begun = monotonicNanoseconds()
        let entry = state.withLock { state -> (kept: Outcome?, thread: LaneThread?, patience: UInt64) in
            if let kept = state.kept.removeValue(forKey: call)?.result as? Outcome { return (kept, nil, 0) }
            let late = state.lateCount(at: place)
            guard state.late[call] == nil, late < Self.mostLatePerPlace, state.late.count < Self.mostLate else {
                return (nil, nil, 0)
            }
            let thread = state.idle[place]?.popLast() ?? LaneThread(idleTime: keepTime)
            return (nil, thread, late == 0 ? Self.patience : Self.impatience)
        }
        if let kept = entry.kept { return try kept.get() }
        guard let thread = entry.thread else { throw .timedOut }
        thread.startIfNew { [weak self] thread in self?.retire(thread, at: place) ?? true }

        let box = Box<Outcome>()
        let isInTime = thread.perform(until: begun + entry.patience) {
            let result: Outcome
            do throws(Errno) { result = .success(try body()) } catch { result = .failure(error) }
            box.value.withLock { $0 = result }
        } abandoned: {
            // Under the thread's lock: the call has not returned.
            let activity = self.stalls.begin(.init(place: place, work: work), since: begun)
            self.state.withLock { $0.late[call] = activity }
        } late: {
            self.ended(call, result: keepsResult ? box.value.withLock { $0 } : nil, thread)
        }
        guard isInTime, let result = box.value.withLock({ $0 }) else { throw .timedOut }
        state.withLock { $0.idle[place, default: []].append(thread) }
        return try result.get()
    }

    private func ended(_ call: Call, result: (any Sendable)?, _ thread: LaneThread) {
        let (activity, observers) = state.withLock { state in
            state.forgetOld(after: keepTime)
            if let result { state.kept[call] = (result, monotonicNanoseconds()) }
            state.idle[call.place, default: []].append(thread)
            return (state.late.removeValue(forKey: call), state.observers)
        }
        if let activity { stalls.end(activity) }
        for observer in observers { observer() }
    }

    /// - Returns: false if a caller has just taken the thread.
    private func retire(_ thread: LaneThread, at place: String) -> Bool {
        state.withLock { state in
            state.forgetOld(after: keepTime)
            guard let index = state.idle[place]?.firstIndex(where: { $0 === thread }) else { return false }
            state.idle[place]?.remove(at: index)
            if state.idle[place]?.isEmpty == true { state.idle[place] = nil }
            return true
        }
    }
}

/// Shares a lock between a caller and a thread that may outlive the call.
private final class Box<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
}

/// A thread that makes one call after the other, and ends after some idle seconds.
private final class LaneThread: @unchecked Sendable {
    // Unchecked: the variables are only touched within `monitor.locked`.
    private let monitor = Monitor()
    private var job: (body: () -> Void, late: () -> Void)?
    private var isDone = false
    private var isAbandoned = false
    private var isStarted = false
    private let idleTime: UInt64

    init(idleTime: UInt64) { self.idleTime = idleTime }

    func startIfNew(retire: @escaping @Sendable (LaneThread) -> Bool) {
        let mustStart = monitor.locked {
            defer { isStarted = true }
            return !isStarted
        }
        if mustStart { startThread(name: "lane") { self.run(retire: retire) } }
    }

    /// Makes a call on this thread.
    ///
    /// - Parameters:
    ///   - abandoned: called on the caller's thread if the call does not return in time.
    ///   - late: called on this thread when an abandoned call has returned.
    /// - Returns: whether the call returned in time.
    func perform(
        until deadline: UInt64, _ body: @escaping () -> Void, abandoned: () -> Void, late: @escaping () -> Void
    ) -> Bool {
        monitor.locked {
            job = (body, late)
            isDone = false
            isAbandoned = false
            monitor.broadcast()
            while !isDone {
                if monitor.wait(until: deadline), !isDone {
                    isAbandoned = true
                    abandoned()
                    return false
                }
            }
            return true
        }
    }

    private func run(retire: (LaneThread) -> Bool) {
        while true {
            let deadline = monotonicNanoseconds() + idleTime
            let next = monitor.locked { () -> (body: () -> Void, late: () -> Void)? in
                while job == nil {
                    if monitor.wait(until: deadline) { break }
                }
                defer { job = nil }
                return job
            }
            guard let next else {
                if retire(self) { return }
                continue
            }
            next.body()
            let isLate = monitor.locked {
                isDone = true
                monitor.broadcast()
                return isAbandoned
            }
            if isLate { next.late() }
        }
    }
}
