import Synchronization
import SystemPackage
import UploadCore

/// Commands from other threads to the watch thread.
final class Mailbox: Sendable {
    enum Command: Sendable {
        case rescan
        case reconsider(RelativePath)
        /// A file system that did not answer has done so.
        case answered
        case stop
    }

    private struct State {
        var isStarted = false
        var commands: [Command] = []
    }

    let wakeup: Wakeup
    private let state = Mutex(State())

    init() throws(Errno) {
        wakeup = try Wakeup()
    }

    /// Returns whether this is the first start.
    func markStarted() -> Bool {
        state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
    }

    func post(_ command: Command) {
        state.withLock { $0.commands.append(command) }
        wakeup.signal()
    }

    func take() -> [Command] {
        state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }
}
