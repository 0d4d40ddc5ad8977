import Dispatch
import Glibc
import Synchronization

/// Catches Ctrl-C and SIGTERM during its lifetime, so that the command can clear its display first.
final class Interruption {
    private final class Caught: Sendable {
        let number = Atomic<Int32>(0)
    }

    private static let numbers = [SIGINT, SIGTERM]
    private let caught: Caught
    private let sources: [any DispatchSourceSignal]

    init() {
        let caught = Caught()
        self.caught = caught
        sources = Self.numbers.map { number in
            Glibc.signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { caught.number.store(number, ordering: .relaxed) }
            source.activate()
            return source
        }
    }

    deinit {
        for source in sources { source.cancel() }
        for number in Self.numbers { Glibc.signal(number, SIG_DFL) }
    }

    /// The signal received; nil if none.
    var signal: Int32? {
        let number = caught.number.load(ordering: .relaxed)
        return number == 0 ? nil : number
    }

    /// Ends the process with the signal's default action, so that the shell sees the cause.
    static func end(by signal: Int32) -> Never {
        Glibc.signal(signal, SIG_DFL)
        raise(signal)
        exit(128 + signal)
    }
}
