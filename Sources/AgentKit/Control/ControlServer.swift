import Glibc
import Hummingbird
import HummingbirdCore
import LinuxSystem
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// The control interface: HTTP on a Unix socket that only its owner may use (docs/control.md).
struct ControlServer: Service {
    private let socket: ControlSocketPath
    private let backend: any ControlBackend
    private let logger: Logger
    private let onRunning: @Sendable () -> Void

    /// A server.
    ///
    /// - Parameters:
    ///   - socket: path of the socket, at most 107 bytes; what a killed agent left there is replaced.
    ///   - backend: asked for everything.
    ///   - onRunning: told once it answers, and when it never will.
    init(
        socket: String, backend: any ControlBackend, logger: Logger, onRunning: @escaping @Sendable () -> Void = {}
    ) {
        self.onRunning = onRunning
        self.socket = ControlSocketPath(socket)
        self.backend = backend
        self.logger = logger
    }

    /// Finds out whether the socket can be had, so that an agent that can't be steered does not begin at all.
    func prepare() throws(AgentFailure) {
        try socket.prepare()
    }

    /// Serves until the service group shuts down.
    ///
    /// - Throws: `AgentFailure` when the socket can't be had.
    func run() async throws {
        defer { onRunning() }
        try prepare()
        var quiet = logger
        quiet.logLevel = max(quiet.logLevel, .warning)
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.add(middleware: ControlErrors())
        ControlRoutes(backend: backend).add(to: router)
        SessionRoutes(backend: backend).add(to: router)
        let responder = router.buildResponder()
        // Without `Application`, whose clock for `Date` headers wakes an idle agent every second.
        let server = try HTTPServerBuilder.http1().buildServer(
            configuration: .init(address: .unixDomainSocket(path: socket.path)),
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: quiet,
            responder: { [quiet] request, writer, channel in
                let context = BasicRequestContext(
                    source: ApplicationRequestContextSource(channel: channel, logger: quiet))
                let response = try await responder.respond(to: request, context: context)
                try await writer.write(response: response.head, body: response.body)
            },
            onServerRunning: { [socket, logger, onRunning] _ in
                // The directory is closed to others already; this makes the socket say so itself.
                if chmod(socket.path, 0o600) != 0 { logger.warning("the control socket's mode can't be set") }
                onRunning()
            })
        defer { unlink(socket.path) }
        do {
            try await server.run()
        } catch let error as IOError {
            throw socket.refusal("\(error)")
        }
    }
}
