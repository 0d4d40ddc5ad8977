internal import Foundation
internal import Glibc
import Synchronization

/// A small HTTP proxy for tests, on 127.0.0.1. Forwards plain requests one after the other, opens tunnels for
/// CONNECT, and records the heads of both. Resolves names in its own table, never in the DNS.
public final class ForwardProxy: Sendable {
    private struct State {
        var heads: [String] = []
        var isStopped = false
    }

    /// The listen port.
    public let port: UInt16
    private let listener: Int32
    private let targets: [String: UInt16]
    private let tunnelStatus: Int
    private let state = Mutex(State())

    /// The proxy cannot listen.
    public struct StartError: Error {}

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - targets: The local ports on 127.0.0.1, by `host:port` in requests.
    ///   - tunnelStatus: The status of replies to CONNECT; only 200 opens a tunnel.
    /// - Throws: ``StartError``.
    public init(targets: [String: UInt16], tunnelStatus: Int = 200) throws {
        guard let (listener, port) = Self.listen() else { throw StartError() }
        self.listener = listener
        self.port = port
        self.targets = targets
        self.tunnelStatus = tunnelStatus
        Thread.detachNewThread { [self] in acceptAll() }
    }

    /// `http://127.0.0.1:<port>`.
    public var url: String { "http://127.0.0.1:\(port)" }

    /// The heads of all requests to the proxy itself, in order of arrival.
    public var heads: [String] { state.withLock { $0.heads } }

    /// Stops listening. A connection ends when either end closes it.
    public func stop() {
        let isFirst = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        if isFirst { shutdown(listener, Int32(SHUT_RDWR)) }
    }

    private func acceptAll() {
        defer { close(listener) }
        while !state.withLock({ $0.isStopped }) {
            let client = accept(listener, nil, nil)
            if client < 0 { continue }
            // A copy inherited by a child process would keep the connection open.
            _ = fcntl(client, F_SETFD, FD_CLOEXEC)
            Thread.detachNewThread { [self] in
                serve(client)
                close(client)
            }
        }
    }

    private func serve(_ client: Int32) {
        var input = Stream(client)
        while let head = input.readHead() {
            state.withLock { $0.heads.append(head) }
            let words = head.split(separator: "\r\n")[0].split(separator: " ")
            guard words.count == 3 else { return }
            if words[0] == "CONNECT" { return tunnel(client, to: String(words[1]), input.rest) }
            guard pass(head, String(words[1]), &input, to: client) else { return }
        }
    }

    private func tunnel(_ client: Int32, to target: String, _ early: [UInt8]) {
        guard tunnelStatus == 200, let server = connect(target) else {
            write("HTTP/1.1 \(tunnelStatus == 200 ? 502 : tunnelStatus) No\r\nContent-Length: 0\r\n\r\n", to: client)
            return
        }
        defer { close(server) }
        write("HTTP/1.1 200 Yes\r\n\r\n", to: client)
        Stream.send(early, to: server)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            Self.copy(from: server, to: client)
            done.signal()
        }
        Self.copy(from: client, to: server)
        done.wait()
    }

    /// Forwards a request and its reply. Both must have a Content-Length.
    private func pass(_ head: String, _ url: String, _ input: inout Stream, to client: Int32) -> Bool {
        guard url.hasPrefix("http://") else { return false }
        let rest = url.dropFirst(7)
        let target = String(rest.prefix { $0 != "/" })
        let path = rest.dropFirst(target.count)
        guard let server = connect(target) else {
            write("HTTP/1.1 502 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", to: client)
            return false
        }
        defer { close(server) }
        write(head.replacingOccurrences(of: url, with: String(path)) + "\r\n\r\n", to: server)
        Stream.send(input.read(Self.length(head)), to: server)
        var reply = Stream(server)
        guard let replyHead = reply.readHead() else { return false }
        write(replyHead + "\r\n\r\n", to: client)
        Stream.send(reply.read(Self.length(replyHead)), to: client)
        return true
    }

    private static func length(_ head: String) -> Int {
        let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
        return line.flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
    }

    private func write(_ text: String, to descriptor: Int32) { Stream.send(Array(text.utf8), to: descriptor) }

    private static func copy(from source: Int32, to target: Int32) {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while case let count = recv(source, &buffer, buffer.count, 0), count > 0 {
            Stream.send(Array(buffer[..<count]), to: target)
        }
        shutdown(target, Int32(SHUT_WR))
    }

    // MARK: Sockets

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func listen() -> (Int32, UInt16)? {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(listener, generic, length) == 0 && Glibc.listen(listener, 64) == 0
                    && getsockname(listener, generic, &length) == 0
            }
        }
        return isListening ? (listener, UInt16(bigEndian: address.sin_port)) : nil
    }

    private func connect(_ target: String) -> Int32? {
        guard let port = targets[target] else { return nil }
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = Self.address(port)
        let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if isConnected { return server }
        close(server)
        return nil
    }
}

/// Reads heads and bodies from a socket.
private struct Stream {
    private let descriptor: Int32
    private(set) var rest: [UInt8] = []

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Returns everything up to the next empty line, without that line. Returns nil at the end of the connection.
    mutating func readHead() -> String? {
        let mark = Array("\r\n\r\n".utf8)
        while true {
            if let end = rest.firstRange(of: mark) {
                let head = String(decoding: rest[..<end.lowerBound], as: UTF8.self)
                rest.removeFirst(end.upperBound)
                return head
            }
            guard fill() else { return nil }
        }
    }

    mutating func read(_ count: Int) -> [UInt8] {
        while rest.count < count, fill() {}
        let taken = Array(rest.prefix(count))
        rest.removeFirst(taken.count)
        return taken
    }

    private mutating func fill() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        rest += buffer[..<count]
        return true
    }

    static func send(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest.removeFirst(count)
        }
    }
}
