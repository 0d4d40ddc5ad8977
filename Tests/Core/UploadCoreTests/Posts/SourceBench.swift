import Testing
import UploadCore

/// A source on a virtual clock, with its ledger record.
struct SourceBench {
    var machine: SourceMachine
    var now = Now(monotonic: MonotonicTime(nanoseconds: 1_000_000_000_000), wall: WallTime(milliseconds: 5))
    /// The durable record.
    var stored: SourceRecord

    init(_ stage: SourceRecord.Stage = .collecting) {
        stored = SourceRecord(
            id: "0123456789abcdef0123456789abcdef", directory: "trips/sea", account: "anna", stage: stage,
            acceptedAt: WallTime(milliseconds: 1))
        machine = SourceMachine(record: stored, now: now)
    }

    /// Passes events to the machine and stores its record. Returns the actions except `store` and `changed`.
    @discardableResult
    mutating func tell(_ events: [SourceEvent], sourceLocation: SourceLocation = #_sourceLocation) -> [SourceAction] {
        let actions = machine.handle(events, now: now)
        #expect((actions.first == .store) == (machine.record != stored), sourceLocation: sourceLocation)
        #expect(!actions.contains(.store) || actions.last == .changed, sourceLocation: sourceLocation)
        stored = machine.record
        return actions.filter { $0 != .store && $0 != .changed }
    }

    @discardableResult
    mutating func tell(_ events: SourceEvent..., sourceLocation: SourceLocation = #_sourceLocation) -> [SourceAction] {
        tell(events, sourceLocation: sourceLocation)
    }

    /// Advances the clock, with a tick at the deadline on the way and none at the end.
    @discardableResult
    mutating func pass(_ duration: Duration) -> [SourceAction] {
        let end = now.monotonic + duration
        var actions: [SourceAction] = []
        while let next = machine.nextDeadline, next <= end {
            jump(to: next)
            actions += tell(.tick)
        }
        jump(to: end)
        return actions
    }

    private mutating func jump(to time: MonotonicTime) {
        now.wall = now.wall.advanced(by: time - now.monotonic)
        now.monotonic = time
    }

    /// Returns the bench after a kill and a restart.
    func restarted() -> SourceBench {
        var bench = self
        bench.machine = SourceMachine(record: stored, now: now)
        return bench
    }

    var stage: SourceRecord.Stage { machine.record.stage }

    /// The error code of the current stage.
    var code: String? {
        switch stage {
        case .failed(let error), .cancelled(let error), .rejected(let error): error.code
        default: nil
        }
    }

    /// The commit under way.
    var commit: SourceCommit? { if case .committing(let commit) = stage { commit } else { nil } }

    // MARK: Places to begin from

    /// A source with files `a`, `b` of contents 1, 2, taken and on their way.
    static func uploading(_ description: SourceDescription = SourceDescription(title: "Sea")) -> SourceBench {
        var bench = SourceBench()
        bench.tell(.described(description), .file("a", .queued(1)), .file("b", .queued(2)))
        bench.pass(.seconds(2))
        return bench
    }

    static func committing(_ description: SourceDescription = SourceDescription(title: "Sea")) -> SourceBench {
        var bench = uploading(description)
        bench.tell(.file("a", .done(1)), .file("b", .done(2)))
        return bench
    }

    static func done(_ description: SourceDescription = SourceDescription(title: "Sea")) -> SourceBench {
        var bench = committing(description)
        bench.tell(.committed(revision: 1, .done(url: "http://post/1")))
        return bench
    }

    static func failed() -> SourceBench {
        var bench = uploading()
        bench.tell(.file("a", .done(1)), .file("b", .failed(2)))
        return bench
    }

    static func rejected() -> SourceBench {
        var bench = SourceBench()
        bench.tell(.malformed(.broken), .file("a", .queued(1)))
        return bench
    }

    static func cancelled() -> SourceBench {
        var bench = uploading()
        bench.tell(.cancel)
        return bench
    }
}

extension SourceFile {
    static let settling = SourceFile(state: .settling)
    static let rejected = SourceFile(state: .rejected)

    static func queued(_ number: UInt64) -> SourceFile { SourceFile(state: .queued, key: content(number).key) }

    static func picture(_ number: UInt64) -> SourceFile {
        SourceFile(state: .queued, key: content(number).key, isPicture: true)
    }

    static func done(_ number: UInt64, id: String? = nil) -> SourceFile {
        SourceFile(state: .done, key: content(number).key, remoteID: id ?? "id\(number)")
    }

    static func failed(_ number: UInt64) -> SourceFile {
        SourceFile(
            state: .failed, key: content(number).key,
            error: FileError(code: "refused", message: "too big for the server", retryable: false))
    }

    static func cancelled(_ number: UInt64) -> SourceFile {
        SourceFile(state: .cancelled, key: content(number).key)
    }
}

extension FileError {
    static let broken = FileError(code: "malformed", message: "source.toml, line 3: no value", retryable: false)
    static let cancelledByUser = FileError(code: "cancelled", message: "cancelled by the user", retryable: false)
}
