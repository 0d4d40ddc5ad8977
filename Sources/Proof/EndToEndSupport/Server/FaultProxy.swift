import Foundation
import Glibc
import Synchronization

/// A bad network between agent and server: a TCP proxy on its own port whose behaviour a test controls.
package final class FaultProxy: Sendable {
    package enum Condition: Equatable, Sendable {
        /// The proxy forwards everything.
        case good
        /// The proxy neither reads nor forwards anything; connections stay open.
        case blackHole
        /// The proxy forwards bytes from the agent at this rate, in bytes per second.
        case slow(Int)
        /// The proxy resets new connections at once.
        case resetting
    }

    private struct State {
        var condition = Condition.good
        /// Connections of an earlier epoch are reset.
        var epoch = 0
        var isStopped = false
        var upstream: UInt16
    }

    /// Separate from the proxy, because the proxy's threads retain it.
    private final class Line: Sendable {
        let state: Mutex<State>
        init(upstream: UInt16) { state = Mutex(State(upstream: upstream)) }
    }

    private let line: Line
    private let listener: Int32
    package let port: UInt16

    /// Listens, and forwards connections to a local port.
    ///
    /// - Parameters:
    ///   - address: The listen address, in dotted decimal.
    ///   - listener: The TCP socket that shall listen, if it belongs to another network namespace; nil for a new one.
    package init(to upstream: UInt16, at address: String = "127.0.0.1", listener given: Int32? = nil) throws {
        line = Line(upstream: upstream)
        let listener = given ?? socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var own = Self.address(address, port: 0)
        // A small window lets a test notice a black hole before the kernel buffers a whole fragment.
        var window: Int32 = 16_384
        setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &window, 4)
        guard Self.with(&own, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
            throw Surprise("the proxy cannot listen on \(address): errno \(errno)")
        }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &own) { pointer in
            _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
        }
        port = UInt16(bigEndian: own.sin_port)
        self.listener = listener
        let line = line
        Thread.detachNewThread { Self.accept(listener, line) }
    }

    deinit {
        line.state.withLock { $0.isStopped = true }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    package var condition: Condition {
        get { line.state.withLock { $0.condition } }
        set { line.state.withLock { $0.condition = newValue } }
    }

    /// Resets all current connections.
    package func resetAll() { line.state.withLock { $0.epoch += 1 } }

    // MARK: Threads

    private static func accept(_ listener: Int32, _ line: Line) {
        while true {
            let agent = Glibc.accept(listener, nil, nil)
            if agent < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                close(listener)
                return
            }
            // A copy inherited by a child process would prevent the reset of the connection.
            _ = fcntl(agent, F_SETFD, FD_CLOEXEC)
            Thread.detachNewThread { Pump(agent: agent, line: line)?.run() }
        }
    }

    /// Forwards one connection.
    private struct Pump {
        let agent: Int32
        let server: Int32
        let line: Line
        let epoch: Int

        /// Returns nil and closes the connection if the server cannot be reached or the condition is `resetting`.
        init?(agent: Int32, line: Line) {
            self.agent = agent
            self.line = line
            let (state, epoch) = line.state.withLock { (($0.condition, $0.upstream), $0.epoch) }
            self.epoch = epoch
            server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var there = FaultProxy.address("127.0.0.1", port: state.1)
            let descriptor = server
            guard state.0 != .resetting, FaultProxy.with(&there, { connect(descriptor, $0, $1) }) == 0 else {
                close(server)
                Self.reset(agent)
                return nil
            }
        }

        func run() {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let (condition, current, isStopped) = line.state.withLock { ($0.condition, $0.epoch, $0.isStopped) }
                if current != epoch || isStopped { break }
                if condition == .blackHole {
                    usleep(10_000)
                    continue
                }
                var ready = [
                    pollfd(fd: agent, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: server, events: Int16(POLLIN), revents: 0),
                ]
                guard poll(&ready, 2, 10) >= 0 || errno == EINTR else { break }
                var most = buffer.count
                if case .slow(let speed) = condition { most = max(1, speed / 50) }
                if ready[0].revents != 0 {
                    guard Self.move(&buffer, most, from: agent, to: server) else { break }
                    if most < buffer.count { usleep(20_000) }
                }
                if ready[1].revents != 0 {
                    guard Self.move(&buffer, buffer.count, from: server, to: agent) else { break }
                }
            }
            close(server)
            Self.reset(agent)
        }

        private static func move(_ buffer: inout [UInt8], _ most: Int, from: Int32, to: Int32) -> Bool {
            let count = recv(from, &buffer, most, 0)
            guard count > 0 else { return false }
            var sent = 0
            while sent < count {
                let result = buffer.withUnsafeBytes {
                    send(to, $0.baseAddress?.advanced(by: sent), count - sent, Int32(MSG_NOSIGNAL))
                }
                guard result > 0 else { return false }
                sent += result
            }
            return true
        }

        /// man 7 socket: closing with SO_LINGER at zero sends a reset.
        private static func reset(_ descriptor: Int32) {
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            close(descriptor)
        }
    }

    // MARK: Addresses

    private static func address(_ text: String, port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, text, &address.sin_addr)
        return address
    }

    private static func with(
        _ address: inout sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
