import Synchronization
import UploadCore

/// What happened in the agent, for everybody who wants to follow it.
///
/// The last events stand in a ring. A reader remembers how far it has read and takes what came since: one that is slow
/// costs nothing, and is told to start anew when the ring has gone past it.
final class EventHub: Sendable {
    /// Something that happened.
    enum Content: Equatable, Sendable {
        /// A path is in another state, or something about its state is new.
        case state(FileReport)
        /// More of a path was acknowledged.
        case progress(FileReport)
        /// A path is no longer listed: it was renamed, or its entry was removed.
        case gone(RelativePath)
        /// A source is in another state, something about it is new, or more of it was acknowledged.
        case source(SourceReport)
        /// A source is no longer listed: its directory, or its `source.toml`, is gone and what is left was cleared up.
        case sourceGone(id: String, RelativePath)
        /// Something needs attention, by a code; nil once it no longer does.
        case problem(code: String, message: String?)
        /// The user's picture is another, or something about it is new: the answer of `/v1/profile`.
        case portrait([UInt8])
        /// A picture of the server was mirrored or removed, or could not be had.
        case avatar(AvatarNews)
    }

    /// Something that happened, with its place in the run of events.
    struct Event: Equatable, Sendable {
        var number: UInt64
        var content: Content
    }

    /// What came since a reader looked last.
    enum News: Equatable, Sendable {
        /// These; none where nothing happened.
        case events([Event])
        /// Some of what came is no longer known: what the reader knows is void. It goes on after the event of this number.
        case reset(next: UInt64)
    }

    private struct State {
        var ring: EventRing
        var pacing = EventPacing()
        var readers: [UInt64: AsyncStream<Signal>.Continuation] = [:]
        var lastReader: UInt64 = 0
    }

    /// Tells the numbers of this run from those of others.
    let run: String
    private let clock: any Clocks
    private let state: Mutex<State>

    /// Events that are kept: about as many as a burst of some hundred small files makes.
    static let usualCapacity = 2048

    /// A hub without events.
    ///
    /// - Parameters:
    ///   - clock: for the pace of progress events.
    ///   - run: a word that no other run of the agent uses, made of letters and digits.
    ///   - capacity: how many events are kept.
    init(
        clock: any Clocks, run: String = String(UInt64.random(in: .min ... .max), radix: 36),
        capacity: Int = usualCapacity
    ) {
        self.clock = clock
        self.run = run
        state = Mutex(State(ring: EventRing(capacity: capacity)))
    }

    /// Takes in what is to be said of a path now; becomes an event where it is news.
    ///
    /// - Returns: whether something about the path's state is new, and not its progress alone.
    @discardableResult
    func publish(_ report: FileReport) -> Bool {
        let now = clock.now.monotonic
        var isNewState = false
        update { state in
            guard let content = state.pacing.content(for: report, now: now) else { return false }
            if case .state = content { isNewState = true }
            state.ring.add(content)
            return true
        }
        return isNewState
    }

    /// Says that a path is no longer listed.
    func publish(gone path: RelativePath) {
        update { state in
            state.pacing.forget(path)
            state.ring.add(.gone(path))
            return true
        }
    }

    /// Takes in what is to be said of a source now; becomes an event where it is news.
    func publish(source report: SourceReport) {
        let now = clock.now.monotonic
        update { state in
            guard state.pacing.isNews(report, now: now) else { return false }
            state.ring.add(.source(report))
            return true
        }
    }

    /// Says that a source is no longer listed.
    ///
    /// - Parameters:
    ///   - id: its id.
    ///   - directory: where it was last.
    func publish(sourceGone id: String, _ directory: RelativePath) {
        update { state in
            state.pacing.forget(source: id)
            state.ring.add(.sourceGone(id: id, directory))
            return true
        }
    }

    /// Says that something needs attention.
    ///
    /// - Parameters:
    ///   - code: a short snake_case word for it.
    ///   - message: one line for people; nil once all is well again.
    func publish(problem code: String, _ message: String?) {
        update { state in
            state.ring.add(.problem(code: code, message: message))
            return true
        }
    }

    /// Says how it stands with the user's picture.
    ///
    /// - Parameter text: one line of JSON, as `/v1/profile` answers it.
    func publish(profile text: [UInt8]) {
        update { state in
            state.ring.add(.portrait(text))
            return true
        }
    }

    /// Says what became of a picture of the server.
    func publish(avatar news: AvatarNews) {
        update { state in
            state.ring.add(.avatar(news))
            return true
        }
    }

    private func update(_ change: (inout sending State) -> Bool) {
        let readers = state.withLock { state in change(&state) ? Array(state.readers.values) : [] }
        for reader in readers { reader.yield(.news) }
    }

    // MARK: Reading

    /// The number of the last event; 0 before the first.
    var lastNumber: UInt64 { state.withLock(\.ring.lastNumber) }

    /// What came after the event of a number.
    func news(after number: UInt64) -> News {
        state.withLock { $0.ring.news(after: number) }
    }

    /// Why a reader is woken.
    enum Signal: Sendable {
        /// Something may have happened since it looked last.
        case news
        /// Nothing need have happened; it is time to show that the connection is alive.
        case heartbeat
    }

    /// Yields whenever there may be news, until its reader goes away. Several events may be one signal.
    ///
    /// - Parameter heartbeat: yields that often in any case.
    func signals(heartbeat: Duration) -> AsyncStream<Signal> {
        let (stream, continuation) = AsyncStream.makeStream(of: Signal.self, bufferingPolicy: .bufferingNewest(1))
        let reader = state.withLock { state in
            state.lastReader += 1
            state.readers[state.lastReader] = continuation
            return state.lastReader
        }
        let beat = Task {
            while (try? await Task.sleep(for: heartbeat)) != nil { continuation.yield(.heartbeat) }
        }
        continuation.onTermination = { [weak self] _ in
            beat.cancel()
            self?.state.withLock { state in state.readers[reader] = nil }
        }
        return stream
    }
}
