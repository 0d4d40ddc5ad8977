import NIOCore
import Synchronization

/// Tells those who work for a client that it closed its connection; the server itself notices when it writes the answer.
///
/// On a Unix socket a closed end is told apart from one that only sends nothing more: epoll reports `EPOLLHUP` for the
/// first alone (man 2 epoll_ctl), and only that ends the channel.
final class ClientPresence: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = NIOAny

    private struct State {
        var isGone = false
        var lastNumber: UInt64 = 0
        var actions: [UInt64: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    /// Does something once the client is gone, at once where it is already.
    ///
    /// - Returns: a number for ``forget(_:)``.
    func whenGone(_ action: @escaping @Sendable () -> Void) -> UInt64 {
        let (number, isGone) = state.withLock { state in
            state.lastNumber += 1
            if !state.isGone { state.actions[state.lastNumber] = action }
            return (state.lastNumber, state.isGone)
        }
        if isGone { action() }
        return number
    }

    /// Does not do it any more: a connection can last for many requests.
    func forget(_ number: UInt64) {
        state.withLock { $0.actions[number] = nil }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let actions = state.withLock { state in
            defer { state.actions = [:] }
            state.isGone = true
            return Array(state.actions.values)
        }
        for action in actions { action() }
        context.fireChannelInactive()
    }
}
