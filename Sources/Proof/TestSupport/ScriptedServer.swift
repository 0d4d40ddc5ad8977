import Glibc
import Synchronization

/// A small HTTP/1.1 server for tests that follows a script, faults included. Listens on 127.0.0.1 over plain sockets,
/// with a thread per connection. Keeps connections open; bodies may have a `Content-Length` or be chunked.
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

    /// The listen port.
    public let port: UInt16
    let handler: @Sendable (Request) -> Reply
    let onHead: @Sendable (Head) -> BodyFault
    let onBody: @Sendable (Head, ArraySlice<UInt8>) -> Void
    let longestKeptBody: Int
    let keepsRequests: Bool
    let state = Mutex(State())
    private let listener: Int32

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - port: The port; 0 for any free port. A stopped server's port brings the server back at the same address.
    ///   - longestKeptBody: The server counts and discards longer bodies, in bytes.
    ///   - keepsRequests: Whether ``requests`` lists the requests, with their bodies.
    ///   - onHead: Called before the server reads the body of a request, on the connection's thread.
    ///   - onBody: Called for each piece of a body, on the connection's thread, which it may block.
    ///   - handler: Returns the reply. Called on the connection's thread, which it may block.
    /// - Throws: ``StartError``.
    public init(
        port: UInt16 = 0, longestKeptBody: Int = .max, keepsRequests: Bool = true,
        onHead: @escaping @Sendable (Head) -> BodyFault = { _ in .read },
        onBody: @escaping @Sendable (Head, ArraySlice<UInt8>) -> Void = { _, _ in },
        handler: @escaping @Sendable (Request) -> Reply
    ) throws {
        (listener, self.port) = try Self.listener(port: port)
        self.longestKeptBody = longestKeptBody
        self.keepsRequests = keepsRequests
        self.onHead = onHead
        self.onBody = onBody
        self.handler = handler
        startThread { [weak self, listener] in Self.accept(on: listener) { self } }
    }

    /// The next port to try. No two servers get the same port: an agent whose server is gone keeps asking at the port,
    /// and must not reach the server of another test. The ports lie below those that the kernel assigns.
    private static let nextPort = Atomic(10_000 + UInt16(truncatingIfNeeded: getpid() % 200 * 100))

    private static func listener(port: UInt16) throws -> (descriptor: Int32, port: UInt16) {
        guard port == 0 else { return (try bound(to: port), port) }
        while true {
            let port = nextPort.wrappingAdd(1, ordering: .relaxed).oldValue
            do throws(StartError) {
                return (try bound(to: port), port)
            } catch {
                guard error.isInUse, port < 32_000 else { throw error }
            }
        }
    }

    private static func bound(to port: UInt16) throws(StartError) -> Int32 {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw StartError.last("socket") }
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isListening = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(listener, generic, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                    && listen(listener, 1024) == 0
            }
        }
        guard isListening else {
            let failure = StartError.last("listening on 127.0.0.1:\(port)")
            close(listener)
            throw failure
        }
        return listener
    }

    deinit {
        // Connection threads retain the server, so only the accepting thread is left, which does not. After stop(),
        // the descriptor's number may belong to another file.
        guard state.withLock({ !$0.isStopped }) else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        for thread in state.withLock({ $0.takeThreads() }) { pthread_detach(thread) }
    }

    /// `http://127.0.0.1:<port>`, without a trailing slash.
    public var url: String { "http://127.0.0.1:\(port)" }

    /// The completely received requests, in order of completion.
    public var requests: [Request] { state.withLock { $0.requests } }

    /// The number of requests whose header was received, complete or not.
    public var startedRequests: Int { state.withLock { $0.started } }

    /// The number of connections accepted so far.
    public var acceptedConnections: Int { state.withLock { $0.accepted } }

    /// The number of open connections.
    public var openConnections: Int { state.withLock { $0.open.count } }

    /// The number of body bytes received so far, of complete and incomplete requests.
    public var receivedBodyBytes: Int { state.withLock { $0.bodyBytes } }

    /// Closes all connections, like a server with idle connections; continues to listen.
    public func closeConnections() {
        state.withLock { state in
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Stops listening, closes all connections and waits for all threads. Idempotent.
    public func stop() {
        let isFirst = state.withLock { state in
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
            defer { state.isStopped = true }
            return !state.isStopped
        }
        // man 2 shutdown: wakes the accepting thread, which then closes the listener.
        if isFirst { shutdown(listener, Int32(SHUT_RDWR)) }
        // The accepting thread may have started another thread meanwhile. After its end, no thread is added.
        while case let threads = state.withLock({ $0.takeThreads() }), !threads.isEmpty {
            for thread in threads { pthread_join(thread, nil) }
        }
    }

    private static func accept(on listener: Int32, server: () -> ScriptedServer?) {
        defer { close(listener) }
        while true {
            let descriptor = Glibc.accept(listener, nil, nil)
            if descriptor < 0 {
                // EINVAL: the listener was shut down. All other errors are temporary, including too many open files.
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
        Self(description: "\(what): \(String(cString: strerror(errno)))", isInUse: errno == EADDRINUSE)
    }
}
