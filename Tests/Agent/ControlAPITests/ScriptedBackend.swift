import AgentTestSupport
import Ledger
import Session
import Synchronization
import UploadCore

@testable import ControlAPI
@testable import Reports

/// A backend with files set by the test. Records the requested actions and sessions.
final class ScriptedBackend: ControlBackend {
    struct State {
        var files: [FileReport] = []
        var metrics = AgentMetrics()
        /// Actions on a target, or on all files below a directory.
        var performed: [(action: UserAction, target: ActionTarget?, directory: RelativePath?)] = []
        /// How many files an action on all changes without listing them.
        var uncounted = 0
        var sessions: [StoredSession?] = []
        var sessionError: SessionError?
    }

    let state = Mutex(State())
    let events = EventHub(clock: HandClock(), ledger: "ledger", outcome: 20, mostUnheard: 8)

    func set(_ change: (inout State) -> Void) {
        state.withLock { state in
            var copy = state
            change(&copy)
            state = copy
        }
    }

    func health() async -> AgentHealth {
        AgentHealth(
            pid: 42, version: "0", uptime: 1, paused: false, scanned: true, active: state.withLock { $0.files.count },
            problems: [])
    }

    func files(_ query: ListQuery<FileState>) async -> Listing<FileReport> {
        state.withLock { state in
            let files = state.files.filter {
                $0.path.isWithin(query.directory) && query.states?.contains($0.state) ?? true
            }
            guard let limit = query.limit else { return Listing(reports: files) }
            return Listing(
                reports: Array(files.prefix(limit)),
                counts: Dictionary(grouping: state.files, by: \.state).mapValues(\.count))
        }
    }

    /// A page of all files in the order of their paths.
    func page(_ query: PageQuery) async -> FilePage {
        let files = state.withLock(\.files).filter { $0.path.bytes.withUnsafeBytes(query.matches) }
        let page = files.filter { query.states?.contains($0.state) ?? true && $0.id != query.start?.id }
        return FilePage(
            reports: Array(page.prefix(query.size)),
            counts: Dictionary(grouping: files, by: \.state).mapValues(\.count),
            next: page.count > query.size ? PagePlace(time: 7, id: page[query.size - 1].id) : nil)
    }

    func thumbnail(of key: ContentKey) async -> [UInt8]? {
        key == state.withLock(\.files).first?.key ? Array("jpeg".utf8) : nil
    }

    func outcomes(_ query: JournalQuery) async -> Journal { Journal(ledger: "0123456789abcdef") }

    /// A journal of 20 outcomes, the first two of which are gone. Each page has three.
    func outcomes(after number: UInt64) async -> OutcomePage? {
        if number < 2 { return nil }
        let numbers = (number + 1...number + 3).filter { $0 <= 20 }
        let events = numbers.compactMap { number in
            (try? FileReport.sample("\(number).jpg", .done)).map { EventHub.Event(outcome: number, $0) }
        }
        return OutcomePage(events: events, last: numbers.last ?? number)
    }

    func sums() async -> HistorySums { HistorySums(OutcomeSums(), today: 0) }

    func hooks() async -> [HookStatus] { [HookStatus(name: "publish")] }

    func testHook(_ name: String) async -> HookTest? {
        name == "publish" ? HookTest(delivered: true, answer: "exit code 0") : nil
    }

    func skipHook(_ name: String) async -> Bool { name == "publish" }

    func transfers() async -> TransferHistory {
        TransferHistory(
            interval: 10, end: "2026-11-23T15:10:20.000Z", bytes: [0, 5], fragments: [0, 1], failed: [0, 0])
    }

    func settings() async -> [UInt8] { Array("{\"settings\":[]}".utf8) }

    func file(id: String) async -> FileReport? {
        state.withLock { state in state.files.first { $0.id == id } }
    }

    func files(of key: ContentKey) async -> [FileReport] {
        state.withLock { state in state.files.filter { $0.key == key } }
    }

    /// Pauses or queues files whose state is not final. Refuses the action on all others.
    func perform(_ action: UserAction, on target: ActionTarget) async -> [ActionOutcome<FileReport>]? {
        state.withLock { state in
            state.performed.append((action, target, nil))
            let named = state.files.indices.filter { index in
                switch target {
                case .file(let id): state.files[index].id == id
                case .upload(let key): state.files[index].key == key
                }
            }
            return named.isEmpty ? nil : Self.perform(action, named, &state)
        }
    }

    func performOnAll(_ action: UserAction, below directory: RelativePath?) async -> ActionAnswer<FileReport> {
        state.withLock { state in
            state.performed.append((action, nil, directory))
            var answer = ActionAnswer(Self.perform(action, Array(state.files.indices), &state))
            answer.changed += state.uncounted
            answer.continues = state.uncounted > 0
            return answer
        }
    }

    private static func perform(
        _ action: UserAction, _ indices: [Int], _ state: inout State
    ) -> [ActionOutcome<FileReport>] {
        indices.map { index in
            guard !state.files[index].state.isFinal else {
                return ActionOutcome(state.files[index], refusal: "it is \"over\" already")
            }
            state.files[index].state = action == .pause ? .paused : .queued
            return ActionOutcome(state.files[index])
        }
    }

    func prune() async -> PruneReport { PruneReport(sidecars: 2, entries: 3) }

    func signIn(token: String, user: String?) async throws(SessionError) -> Bool {
        let session = try StoredSession(token: token, user: user)
        if let error = state.withLock(\.sessionError) { throw error }
        state.withLock { $0.sessions.append(session) }
        return user == "another"
    }

    func signOut() async throws(SessionError) {
        state.withLock { $0.sessions.append(nil) }
    }

    func metrics() async -> AgentMetrics { state.withLock(\.metrics) }
}
