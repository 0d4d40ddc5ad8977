package import Clocks
import LinuxSystem
package import Reports
import Synchronization
package import UploadCore

/// Distributes events to readers.
///
/// The last events are kept in a ring. A reader remembers its position and fetches later events. Slow readers cost
/// nothing: when the ring has overtaken a reader, the reader must start over.
package final class EventHub: Sendable {
    /// The content of an event.
    enum Content: Equatable, Sendable {
        /// A path's state, or details of the state, changed.
        case state(FileReport)
        /// A path made progress.
        case progress(FileReport)
        /// A path left the list: the file was renamed, or the entry was removed.
        case gone(RelativePath)
        /// A source's state, details of the state, or progress changed.
        case source(SourceReport)
        /// A source is no longer listed. The directory or `source.toml` vanished, and the agent removed the remains.
        case sourceGone(id: String, RelativePath)
        /// A problem needs attention; the message is `nil` when the problem is solved.
        case problem(code: String, message: String?)
        /// The user's picture or its state changed. Holds the answer to `/v1/profile`.
        case portrait([UInt8])
        /// A picture of the server was mirrored, was removed, or could not be fetched.
        case avatar(AvatarNews)
    }

    /// An event with its sequence number.
    struct Event: Equatable, Sendable {
        var number: UInt64
        var content: Content
    }

    /// The events since a reader's last visit.
    enum News: Equatable, Sendable {
        /// The new events; empty if there are none.
        case events([Event])
        /// The ring has lost some of the events, so the reader's knowledge is void. The reader continues after this
        /// number.
        case reset(next: UInt64)
    }

    private struct State {
        var ring: EventRing
        var files = EventPacing<FileReport>(generation: 2048)
        /// Reports of posts are larger and fewer.
        var posts = EventPacing<SourceReport>(generation: 512)
        var readers: [UInt64: AsyncStream<Signal>.Continuation] = [:]
        var lastReader: UInt64 = 0
    }

    /// Identifies this run in event ids.
    let run: String
    private let clock: any Clocks
    private let state: Mutex<State>

    /// Number of events to keep: about as many as a burst of some hundred small files makes.
    static let usualCapacity = 2048

    /// Creates a hub without events.
    ///
    /// - Parameters:
    ///   - clock: for the pace of progress events.
    ///   - run: a word of letters and digits that is unique to this run.
    ///   - capacity: number of events to keep.
    package init(
        clock: any Clocks, run: String = String(UInt64.random(in: .min ... .max), radix: 36),
        capacity: Int = usualCapacity
    ) {
        self.clock = clock
        self.run = run
        state = Mutex(State(ring: EventRing(capacity: capacity)))
    }

    /// Accepts a report about a path. Publishes an event if the report contains news.
    ///
    /// - Returns: what is new; `nil` if nothing is.
    @discardableResult
    package func publish(_ report: FileReport) -> ReportNews? {
        let now = clock.now.monotonic
        var news: ReportNews?
        update { state in
            news = state.files.news(in: report, now: now)
            guard let news else { return false }
            state.ring.add(news == .progress ? .progress(report) : .state(report))
            return true
        }
        return news
    }

    /// Publishes that a path is no longer listed.
    package func publish(gone path: RelativePath) {
        update { state in
            state.files.forget(path)
            state.ring.add(.gone(path))
            return true
        }
    }

    /// Accepts a report about a source. Publishes an event if the report contains news.
    package func publish(source report: SourceReport) {
        let now = clock.now.monotonic
        update { state in
            guard state.posts.news(in: report, now: now) != nil else { return false }
            state.ring.add(.source(report))
            return true
        }
    }

    /// Publishes that a source is no longer listed.
    ///
    /// - Parameters:
    ///   - id: the source's id.
    ///   - directory: the source's last directory.
    package func publish(sourceGone id: String, _ directory: RelativePath) {
        update { state in
            state.posts.forget(id)
            state.ring.add(.sourceGone(id: id, directory))
            return true
        }
    }

    /// Publishes a problem.
    ///
    /// - Parameters:
    ///   - code: a short snake_case word.
    ///   - message: one line for people; `nil` when the problem is solved.
    package func publish(problem code: String, _ message: String?) {
        update { state in
            state.ring.add(.problem(code: code, message: message))
            return true
        }
    }

    /// Publishes the state of the user's picture.
    ///
    /// - Parameter text: the answer to `/v1/profile`, one line of JSON.
    package func publish(profile text: [UInt8]) {
        update { state in
            state.ring.add(.portrait(text))
            return true
        }
    }

    /// Publishes a change to a mirrored picture.
    package func publish(avatar news: AvatarNews) {
        update { state in
            state.ring.add(.avatar(news))
            return true
        }
    }

    private func update(_ change: (inout sending State) -> Bool) {
        let readers = state.withLock { state in change(&state) ? Array(state.readers.values) : [] }
        for reader in readers { reader.yield(.news) }
    }

    /// The present time.
    package var now: Now { clock.now }

    // MARK: Reading

    /// The number of the last event; 0 before the first.
    var lastNumber: UInt64 { state.withLock(\.ring.lastNumber) }

    /// Returns the events after a number.
    func news(after number: UInt64) -> News {
        state.withLock { $0.ring.news(after: number) }
    }

    /// The reason for waking a reader.
    enum Signal: Sendable {
        /// There may be new events.
        case news
        /// Time to show that the connection is alive, even without news.
        case heartbeat
    }

    /// Yields whenever there may be news, until the reader leaves. Several events may share one signal.
    ///
    /// - Parameter heartbeat: interval of signals without news.
    func signals(heartbeat: Duration) -> AsyncStream<Signal> {
        let (stream, continuation) = AsyncStream.makeStream(of: Signal.self, bufferingPolicy: .bufferingNewest(1))
        let reader = state.withLock { state in
            state.lastReader += 1
            state.readers[state.lastReader] = continuation
            return state.lastReader
        }
        let beat = Task {
            while (try? await Timers.sleep(for: heartbeat)) != nil { continuation.yield(.heartbeat) }
        }
        continuation.onTermination = { [weak self] _ in
            beat.cancel()
            self?.state.withLock { state in state.readers[reader] = nil }
        }
        return stream
    }
}
