import Dispatch
import Glibc

/// Waits for signals.
enum Signals {
    /// Waits until one of the signals arrives or the task is cancelled. From the call on, these signals no longer
    /// terminate the process.
    static func first(of signals: [Int32]) async {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let sources = signals.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { arrived.yield() }
            source.activate()
            return source
        }
        for await _ in arrivals { break }
        for source in sources { source.cancel() }
    }
}
