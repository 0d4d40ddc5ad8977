package import Clocks
import LinuxSystem
package import Reports
import Synchronization
package import UploadCore

/// Distributes events to the readers that are connected.
///
/// Outcomes are rows of the ledger's journal, where a reader that comes back finds those it missed. All else tells of the
/// present moment and is kept for nobody.
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

    /// The id of an event.
    struct EventID: Equatable, Sendable {
        /// The number of the journal's last row until then.
        var outcome: UInt64
        /// Counts what is no outcome; `nil` for the row itself.
        var part: UInt64?
    }

    /// An event with its id.
    package struct Event: Equatable, Sendable {
        var id: EventID
        var content: Content

        init(_ id: EventID, _ content: Content) { (self.id, self.content) = (id, content) }

        /// The event of a row of the journal.
        package init(outcome number: UInt64, _ report: FileReport) {
            self.init(EventID(outcome: number), .state(report))
        }

        /// The event of a row of the journal.
        package init(outcome number: UInt64, source report: SourceReport) {
            self.init(EventID(outcome: number), .source(report))
        }
    }

    /// What a reader has not heard yet.
    struct Unheard: Equatable, Sendable {
        var events: [Event] = []
        /// The number of the last outcome before `events`, if the reader was too slow and events are lost.
        var missedUntil: UInt64?
    }

    private struct Listener {
        let signals: AsyncStream<Signal>.Continuation
        var unheard = Unheard()
    }

    private struct State {
        /// The number of the last outcome told.
        var outcome: UInt64
        let mostUnheard: Int
        /// The number of events of this run.
        var published: UInt64 = 0
        var files = EventPacing<FileReport>(generation: 2048)
        /// Reports of posts are larger and fewer.
        var posts = EventPacing<SourceReport>(generation: 512)
        var listeners: [UInt64: Listener] = [:]
        var lastListener: UInt64 = 0

        /// Adds an event.
        ///
        /// - Parameter number: the journal's row that the event tells of.
        mutating func add(_ content: Content, outcome number: UInt64? = nil) {
            published += 1
            outcome = max(outcome, number ?? 0)
            let event = Event(EventID(outcome: number ?? outcome, part: number == nil ? published : nil), content)
            for listener in listeners.keys { tell(event, listener) }
        }

        private mutating func tell(_ event: Event, _ listener: UInt64) {
            if listeners[listener]?.unheard.events.count == mostUnheard {
                listeners[listener]?.unheard = Unheard(missedUntil: event.id.part == nil ? outcome - 1 : outcome)
            }
            listeners[listener]?.unheard.events.append(event)
        }
    }

    /// What the ids of the ledger's rows begin with.
    let ledger: String
    private let clock: any Clocks
    private let state: Mutex<State>

    /// Creates a hub without events.
    ///
    /// - Parameters:
    ///   - clock: for the pace of progress events.
    ///   - ledger: what the ids of the ledger's rows begin with.
    ///   - outcome: the number of the journal's last row.
    ///   - mostUnheard: so many events wait for a reader, about as many as a burst of some hundred small files makes.
    package init(clock: any Clocks, ledger: String, outcome: UInt64, mostUnheard: Int = 2048) {
        self.clock = clock
        self.ledger = ledger
        state = Mutex(State(outcome: outcome, mostUnheard: mostUnheard))
    }

    /// Accepts a report about a path. Publishes an event if the report contains news.
    ///
    /// - Parameter outcome: the journal's row that says the same; always news.
    package func publish(_ report: FileReport, outcome: UInt64? = nil) {
        let now = clock.now.monotonic
        update { state in
            let news = state.files.news(in: report, now: now)
            guard outcome != nil || news != nil else { return false }
            state.add(outcome == nil && news == .progress ? .progress(report) : .state(report), outcome: outcome)
            return true
        }
    }

    /// Publishes that a path is no longer listed.
    package func publish(gone path: RelativePath) {
        update { state in
            state.files.forget(path)
            state.add(.gone(path))
            return true
        }
    }

    /// Accepts a report about a source. Publishes an event if the report contains news.
    ///
    /// - Parameter outcome: the journal's row that says the same; always news.
    package func publish(source report: SourceReport, outcome: UInt64? = nil) {
        let now = clock.now.monotonic
        update { state in
            let news = state.posts.news(in: report, now: now)
            guard outcome != nil || news != nil else { return false }
            state.add(.source(report), outcome: outcome)
            return true
        }
    }

    /// Notes a row of the journal that makes no event.
    package func pass(outcome: UInt64) { state.withLock { $0.outcome = max($0.outcome, outcome) } }

    /// Publishes that a source is no longer listed.
    ///
    /// - Parameters:
    ///   - id: the source's id.
    ///   - directory: the source's last directory.
    package func publish(sourceGone id: String, _ directory: RelativePath) {
        update { state in
            state.posts.forget(id)
            state.add(.sourceGone(id: id, directory))
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
            state.add(.problem(code: code, message: message))
            return true
        }
    }

    /// Publishes the state of the user's picture.
    ///
    /// - Parameter text: the answer to `/v1/profile`, one line of JSON.
    package func publish(profile text: [UInt8]) {
        update { state in
            state.add(.portrait(text))
            return true
        }
    }

    /// Publishes a change to a mirrored picture.
    package func publish(avatar news: AvatarNews) {
        update { state in
            state.add(.avatar(news))
            return true
        }
    }

    private func update(_ change: (inout sending State) -> Bool) {
        let signals = state.withLock { state in change(&state) ? state.listeners.values.map(\.signals) : [] }
        for signal in signals { signal.yield(.news) }
    }

    /// The present time.
    package var now: Now { clock.now }

    // MARK: Reading

    /// The number of events of this run.
    var published: UInt64 { state.withLock(\.published) }

    /// Returns an id as text.
    func text(_ id: EventID) -> String {
        "\(ledger)-\(id.outcome)" + (id.part.map { ".\($0)" } ?? "")
    }

    /// Returns the number of the last outcome that a reader with an id knows; `nil` if the id is not this ledger's.
    func outcome(inID text: String) -> UInt64? {
        guard text.hasPrefix(ledger + "-") else { return nil }
        return text.dropFirst(ledger.utf8.count + 1).split(separator: ".").first.flatMap { UInt64($0) }
    }

    /// The reason for waking a reader.
    enum Signal: Sendable {
        /// There may be new events.
        case news
        /// Time to show that the connection is alive, even without news.
        case heartbeat
    }

    /// Adds a reader, until its signals end.
    ///
    /// - Parameter heartbeat: interval of signals without news.
    func reader(heartbeat: Duration) -> EventReader {
        let (stream, continuation) = AsyncStream.makeStream(of: Signal.self, bufferingPolicy: .bufferingNewest(1))
        let (number, outcome) = state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = Listener(signals: continuation)
            return (state.lastListener, state.outcome)
        }
        let beat = Task {
            while (try? await Timers.sleep(for: heartbeat)) != nil { continuation.yield(.heartbeat) }
        }
        continuation.onTermination = { [weak self] _ in
            beat.cancel()
            self?.state.withLock { state in state.listeners[number] = nil }
        }
        return EventReader(signals: stream, start: outcome) { [weak self] in
            self?.state.withLock { state in
                defer { state.listeners[number]?.unheard = Unheard() }
                return state.listeners[number]?.unheard ?? Unheard()
            } ?? Unheard()
        }
    }
}

/// One reader of events.
struct EventReader: Sendable {
    /// Yields whenever there may be news. Several events may share one signal.
    let signals: AsyncStream<EventHub.Signal>
    /// The number of the last outcome before the reader came.
    let start: UInt64
    /// Returns what the reader has not heard yet.
    let take: @Sendable () -> EventHub.Unheard
}
