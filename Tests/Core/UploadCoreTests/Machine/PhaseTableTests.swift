import Testing
import UploadCore

/// Every phase of an upload, with one waiting path `a`.
enum Place: String, CaseIterable, Sendable {
    case unregistered, registering, ready, resuming, sending, verifying, asking, waiting, held, gone

    func bench() -> Bench {
        var bench = Bench(self == .resuming ? .tus : .fileSection, files: 1, fragments: 2)
        let two = content(1, fragments: 2)
        switch self {
        case .unregistered:
            // Another registration is under way.
            bench.tell(.join("z", content(9), paused: false))
            bench.tell(.join("a", two, paused: false))
        case .ready:
            // Another upload has the only slot.
            bench.tell(.join("z", content(9), paused: false))
            bench.tell(.join("a", two, paused: false))
            bench.answer(.register)
            bench.answer(.register)
        case .held: bench.tell(.join("a", two, paused: true))
        case .gone: break
        default: bench.tell(.join("a", two, paused: false))
        }
        if [.unregistered, .registering, .ready, .held, .gone].contains(self) { return bench }
        bench.answer(.register)
        switch self {
        case .resuming:
            bench.answer(.send, .failure(.busy))
            bench.pass(.seconds(1))
        case .waiting:
            bench.answer(.send, .failure(.busy))
            bench.answer(.send, .failure(.busy))
        case .verifying, .asking:
            bench.answer(.send)
            bench.answer(.send)
            if self == .verifying { bench.answer(.finish, .assembling) }
        default: break
        }
        return bench
    }
}

/// Events from the user, the clock or the system that may come at any moment.
enum Happening: String, CaseIterable, Sendable {
    case join, leave, rename, pause, resume, pauseAll, first, retry, tick, credentials, network, limits, signOut, stop

    func event() -> MachineEvent {
        let key = content(1).key
        switch self {
        case .join: return .join("b", content(1, fragments: 2), paused: false)
        case .leave: return .leave("a", key)
        case .rename: return .rename("a", to: "c", key)
        case .pause: return .setPaused("a", key, true)
        case .resume: return .setPaused("a", key, false)
        case .pauseAll: return .setAllPaused(true)
        case .first: return .first(key)
        case .retry: return .retry(key)
        case .tick: return .tick
        case .credentials: return .credentialsChanged
        case .network: return .networkChanged
        case .limits:
            return .setLimits(UploadLimits(filesInFlight: 2, fragmentsInFlight: 1, retryInterval: .seconds(60)))
        case .signOut: return .setSignedOut(.signedOut)
        case .stop: return .stop
        }
    }
}

/// The state afterwards (`-` for none), the requests that begin (`+`), and the number of cancelled requests (`x`).
private let table = """
    unregistered | queued | leave: -, pause: paused, pauseAll: paused, signOut: signed_out x1, stop: queued x1
    registering | queued | leave: - x1, pause: paused, pauseAll: paused, signOut: signed_out x1, stop: queued x1
    ready | queued | leave: - +remove, pause: paused, pauseAll: paused x1, limits: uploading +send, signOut: signed_out x1, stop: queued x1
    resuming | waiting | leave: - +remove x1, pause: paused x1, pauseAll: paused x1, signOut: signed_out x1, stop: waiting x1
    sending | uploading | leave: - +remove x2, pause: paused x2, pauseAll: paused x2, signOut: signed_out x2, stop: uploading x2
    verifying | verifying | leave: - +remove, pause: paused, pauseAll: paused, signOut: signed_out
    asking | verifying | leave: - +remove x1, pause: paused, pauseAll: paused, signOut: signed_out x1, stop: verifying x1
    waiting | waiting | leave: -, pause: paused, pauseAll: paused, retry: uploading +send, credentials: uploading +send, network: uploading +send, signOut: signed_out
    held | paused | join: paused +register, leave: -, resume: queued +register
    gone | - | join: queued +register
    """

@Suite("Every phase of an upload with every event")
struct PhaseTableTests {
    /// Returns the expected outcome: a row begins with the outcome of most events, followed by the exceptions.
    private static func expected(_ place: Place, _ happening: Happening) throws -> String {
        let row = try #require(table.split(separator: "\n").first { $0.hasPrefix("\(place.rawValue) ") })
        let cells = row.split(separator: "|").map { $0.drop { $0 == " " } }
        let exceptions = cells.dropFirst(2).joined().split(separator: ", ").map { $0.split(separator: ": ") }
        let own = exceptions.first { $0[0] == happening.rawValue }?[1]
        return (own ?? cells[1]).split(separator: " ").joined(separator: " ")
    }

    @Test("has the outcome in the table", arguments: Place.allCases, Happening.allCases)
    func outcome(place: Place, happening: Happening) throws {
        var bench = place.bench()
        let cancelledBefore = bench.cancelled.count
        let actions = bench.tell(happening.event())
        let path: RelativePath = happening == .rename ? "c" : (place == .gone ? "b" : "a")
        let state = bench.state(content(1).key, path)?.rawValue ?? "-"
        let given = bench.cancelled.count - cancelledBefore
        let words = [state] + actions.kinds.map { "+\($0.rawValue)" } + (given > 0 ? ["x\(given)"] : [])
        #expect(try words.joined(separator: " ") == Self.expected(place, happening))
    }
}
