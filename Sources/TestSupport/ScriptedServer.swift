import Glibc
import Synchronization

/// A small HTTP/1.1 server for tests that does what a script says, faults included: over plain sockets, on 127.0.0.1,
/// with a thread for each connection. Connections are kept open; bodies may have a `Content-Length` or be chunked.
public final class ScriptedServer: Sendable {
    struct State {
        var requests: [Request] = []
        var started = 0
        var accepted = 0
        var bodyBytes = 0
        var open: Set<Int32> = []
        var threads: [pthread_t] = []
        var isStopped = false

        mutating func takeThreads() -> [pthread_t] {
            defer { threads = [] }
            return threads
        }
    }

    /// The port it listens on.
    public let port: UInt16
    let handler: @Sendable (Request) -> Reply
    let onHead: @Sendable (Head) -> BodyFault
    let longestKeptBody: Int
    let state = Mutex(State())
    private let listener: Int32

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - port: 0 for a free one; or that of a server stopped before, to come back at the same address.
    ///   - longestKeptBody: bodies longer than this are counted and dropped.
    ///   - onHead: asked before the body of a request is read; called on the connection's thread.
    ///   - handler: gives the reply; called on the connection's thread, which it may block.
    /// - Throws: ``StartError``.
    public init(
        port: UInt16 = 0, longestKeptBody: Int = .max, onHead: @escaping @Sendable (Head) -> BodyFault = { _ in .read },
        handler: @escaping @Sendable (Request) -> Reply
    ) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw StartError.last("socket") }
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(listener, generic, length) == 0 && listen(listener, 1024) == 0
                    && getsockname(listener, generic, &length) == 0
            }
        }
        guard isListening else {
            let failure = StartError.last("listening on 127.0.0.1:\(port)")
            close(listener)
            throw failure
        }
        self.listener = listener
        self.port = UInt16(bigEndian: address.sin_port)
        self.longestKeptBody = longestKeptBody
        self.onHead = onHead
        self.handler = handler
        startThread { [weak self] in Self.accept(on: listener) { self } }
    }

    deinit {
        // The threads of connections hold the server, so only the one that accepts is left, which does not. After
        // stop() the descriptor's number may be somebody else's.
        guard state.withLock({ !$0.isStopped }) else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        for thread in state.withLock({ $0.takeThreads() }) { pthread_detach(thread) }
    }

    /// `http://127.0.0.1:<port>`, without a slash at the end.
    public var url: String { "http://127.0.0.1:\(port)" }

    /// The requests that came to their end, in the order they did.
    public var requests: [Request] { state.withLock { $0.requests } }

    /// How many requests had their header read, complete or not.
    public var startedRequests: Int { state.withLock { $0.started } }

    /// How many connections were made so far.
    public var acceptedConnections: Int { state.withLock { $0.accepted } }

    /// How many connections are open now.
    public var openConnections: Int { state.withLock { $0.open.count } }

    /// How many bytes of bodies came so far, of complete and incomplete requests.
    public var receivedBodyBytes: Int { state.withLock { $0.bodyBytes } }

    /// Closes every connection, as a server does with idle ones; goes on listening.
    public func closeConnections() {
        state.withLock { state in
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Stops listening, closes every connection and waits for all threads. Calling it again does nothing.
    public func stop() {
        let isFirst = state.withLock { state in
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
            defer { state.isStopped = true }
            return !state.isStopped
        }
        // man 2 shutdown: wakes the thread that accepts, which then closes the listener.
        if isFirst { shutdown(listener, Int32(SHUT_RDWR)) }
        // That thread may have started another one since; when it has ended, no more are added.
        while case let threads = state.withLock({ $0.takeThreads() }), !threads.isEmpty {
            for thread in threads { pthread_join(thread, nil) }
        }
    }

    private static func accept(on listener: Int32, server: () -> ScriptedServer?) {
        defer { close(listener) }
        while true {
            let descriptor = Glibc.accept(listener, nil, nil)
            if descriptor < 0 {
                // EINVAL: the listener was shut down. Anything else passes, too many open files included.
                if errno == EINVAL { return }
                usleep(1000)
                continue
            }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            guard let server = server() else {
                close(descriptor)
                return
            }
            server.serve(descriptor)
        }
    }

    private func serve(_ descriptor: Int32) {
        let number: Int? = state.withLock { state in
            if state.isStopped { return nil }
            state.open.insert(descriptor)
            state.accepted += 1
            return state.accepted - 1
        }
        guard let number else {
            close(descriptor)
            return
        }
        startThread { ScriptedConnection(server: self, descriptor: descriptor, number: number).run() }
    }

    private func startThread(_ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(ThreadBody(body))
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { raw in
                if let raw { Unmanaged<ThreadBody>.fromOpaque(raw).takeRetainedValue().run() }
                return nil
            }, box.toOpaque())
        guard failure == 0 else {
            box.release()
            return
        }
        let started = thread
        state.withLock { $0.threads.append(started) }
    }
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

extension ScriptedServer.StartError {
    fileprivate static func last(_ what: String) -> Self {
        Self(description: "\(what): \(String(cString: strerror(errno)))")
    }
}
