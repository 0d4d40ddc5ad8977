import NIOCore
import Synchronization

/// Reports that a client closed its connection. The server itself would notice only when writing the answer.
///
/// On a Unix socket, epoll distinguishes a closed peer from one that merely sends nothing more: `EPOLLHUP` is
/// reported only for the former (man 2 epoll_ctl), and only that ends the channel.
final class ClientPresence: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = NIOAny

    private struct State {
        var isGone = false
        var lastNumber: UInt64 = 0
        var actions: [UInt64: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    /// Registers an action for the moment the client leaves. Runs the action at once if the client has left already.
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

    /// Removes an action, since a connection can last for many requests.
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
