@testable import UploadCore

/// A portrait machine on a virtual clock, with a log of all its actions.
struct PortraitLife {
    typealias Event = PortraitMachine.Event

    var machine: PortraitMachine
    var log: [PortraitMachine.Action] = []
    var milliseconds: Int64 = 1_000_000

    static let trouble = FileError(code: "server_error", message: "500", retryable: true)
    static let refusal = FileError(code: "signed_out", message: "401", retryable: true)
    static let removal = FileError(code: "removed", message: "", retryable: false)
    static let objection = FileError(code: "refused", message: "415", retryable: false)

    init(
        restoring record: PortraitRecord? = nil, account: String? = "anna", starts: Bool = true,
        isAllPaused: Bool = false
    ) {
        machine = PortraitMachine(restoring: record, lastID: 0, retryInterval: .seconds(600), seed: 1)
        if starts { self(.started(account: account, isAllPaused: isAllPaused)) }
    }

    var now: Now {
        Now(
            monotonic: MonotonicTime(nanoseconds: UInt64(milliseconds) * 1_000_000),
            wall: WallTime(milliseconds: milliseconds))
    }

    /// Passes an event to the machine and logs its actions.
    @discardableResult
    mutating func callAsFunction(_ event: Event) -> [PortraitMachine.Action] {
        let actions = machine.handle(event, now: now)
        log += actions
        return actions
    }

    /// Drops, draws and stores a picture, which becomes the newest. Returns its id.
    @discardableResult
    mutating func take(_ name: String, content: UInt64 = 1) -> UInt64 {
        self(.dropped(Self.drop(name, content: content, changed: milliseconds), .arrived(nextArrival)))
        let id = machine.candidates.last?.id ?? 0
        self(.prepared(id))
        self(.stored(id))
        return id
    }

    /// The arrival number for a picture that comes after all others.
    var nextArrival: UInt64 { max(machine.latestArrival, machine.candidates.map(\.arrival).max() ?? 0) + 1 }

    /// The request under way; 0 if none.
    var request: RequestID { machine.errand.request ?? 0 }

    /// Returns the last report of a file.
    func report(_ name: String) -> PortraitReport? {
        log.reversed().lazy.compactMap { action in
            if case .report(let report) = action, report.path == RelativePath("portrait/\(name)") {
                report
            } else {
                nil
            }
        }.first
    }

    static func path(_ name: String) -> RelativePath { RelativePath("portrait/\(name)") ?? .root }

    static func drop(_ name: String, content: UInt64 = 1, changed: Int64 = 0) -> PortraitDrop {
        let time = changed * 1_000_000
        return PortraitDrop(
            path: path(name), key: ContentKey(high: 0, low: content),
            identity: FileIdentity(
                device: 1, inode: content, size: 1000, modified: time, changed: time, born: time),
            type: MediaType(kind: .image, mime: "image/jpeg"), acceptedAt: WallTime(milliseconds: changed))
    }

    /// Returns a short text of the actions, for tables.
    static func words(_ actions: [PortraitMachine.Action]) -> String {
        actions.map(word).joined(separator: ", ")
    }

    private static func word(_ action: PortraitMachine.Action) -> String {
        func name(_ path: RelativePath) -> String { String(decoding: path.name, as: UTF8.self) }
        switch action {
        case .prepare(let id, _): return "prepare \(id)"
        case .scrap(let id): return "scrap \(id)"
        case .store(let record): return "store \(record.id)"
        case .note(let record): return "note \(record.id)"
        case .upload(let request, let id): return "upload \(id) as #\(request)"
        case .cancel(let request): return "cancel #\(request)"
        case .settle(let record): return "settle \(record.id) \(record.fate)"
        case .report(let report):
            return "\(name(report.path)) \(report.state)" + (report.error.map { " (\($0.code))" } ?? "")
        case .announce(.pending(let path, _)): return "shown: \(name(path))"
        case .announce(.changed(let path, _, let state)): return "now: \(name(path)) \(state)"
        case .announce(.done(let path, _, let url)): return "done: \(name(path)) \(url)"
        case .announce(.discarded(let path, _, let error)): return "discarded: \(name(path)) (\(error.code))"
        }
    }

    /// The phase as short text, for tables.
    var phase: String {
        let errand = machine.errand
        let word =
            switch machine.phase {
            case .idle: "idle"
            case .pending: errand.isUnderWay ? "sending" : errand.pause == nil ? "ready" : "waiting"
            case .signedOut: "signed out"
            case .settling(let record): "settling \(record.fate)"
            }
        return errand.isGivenUp ? word + ", stopping" : word
    }
}
