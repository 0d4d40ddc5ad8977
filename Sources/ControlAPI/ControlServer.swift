package import AgentSupport
import Glibc
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import NIOPosix
package import Reports
import ServiceLifecycle

/// The control interface: HTTP on a Unix socket that only its owner can use (docs/control.md).
package struct ControlServer: Service {
    /// One thread is enough for commands and a browser; each more costs 200 KiB.
    private static let eventLoops = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    private let socket: ControlSocketPath
    private let backend: any ControlBackend
    private let sources: any SourceBackend
    private let pictures: Pictures
    private let readiness: Task<Void, Never>
    private let logger: Logger
    private let onRunning: @Sendable () -> Void

    /// The providers of pictures.
    package struct Pictures: Sendable {
        /// The mirror of the server's pictures; `nil` if the mirror's directory can't be used.
        var avatars: (any AvatarBackend)?
        /// The user's own picture; `nil` if nothing handles it.
        var profile: (any ProfileBackend)?
        /// Served in place of a missing picture.
        var placeholder = PlaceholderPicture.builtIn

        package init(
            avatars: (any AvatarBackend)? = nil, profile: (any ProfileBackend)? = nil,
            placeholder: PlaceholderPicture = PlaceholderPicture.builtIn
        ) {
            self.avatars = avatars
            self.profile = profile
            self.placeholder = placeholder
        }
    }

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - socket: path of the socket, at most 107 bytes. A socket left by a killed agent is replaced.
    ///   - backend: answers requests about files.
    ///   - sources: answers requests about sources.
    ///   - pictures: answer requests about avatars and the portrait.
    ///   - readiness: ends when requests can be answered. Requests wait until then.
    ///   - onRunning: called when the server runs, and when it ends.
    package init(
        socket: String, backend: any ControlBackend, sources: any SourceBackend, pictures: Pictures,
        readiness: Task<Void, Never> = Task {}, logger: Logger, onRunning: @escaping @Sendable () -> Void = {}
    ) {
        self.readiness = readiness
        self.pictures = pictures
        self.onRunning = onRunning
        self.socket = ControlSocketPath(socket)
        self.backend = backend
        self.sources = sources
        self.logger = logger
    }

    /// Checks whether the socket is available. An agent without control socket must not start.
    package func prepare() throws(AgentFailure) {
        try socket.prepare()
    }

    /// Serves until the service group shuts down.
    ///
    /// - Throws: `AgentFailure` if the socket is not available.
    package func run() async throws {
        defer { onRunning() }
        try prepare()
        var quiet = logger
        quiet.logLevel = max(quiet.logLevel, .warning)
        let router = Router(context: ControlContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: ControlErrors())
        router.add(middleware: Readiness(of: readiness))
        ControlRoutes(backend: backend, sources: sources, avatars: pictures.avatars).add(to: router)
        AvatarRoutes(backend: pictures.avatars, placeholder: pictures.placeholder).add(to: router)
        if let profile = pictures.profile { ProfileRoutes(backend: profile).add(to: router) }
        SessionRoutes(backend: backend).add(to: router)
        let responder = router.buildResponder()
        let bound = try socket.makeDraft()
        defer { socket.removeDraft() }
        // `Application` is not used: its clock for `Date` headers wakes an idle agent every second.
        let server = try HTTPServerBuilder.http1(
            configuration: .init(additionalChannelHandlers: [ClientPresence()])
        ).buildServer(
            configuration: .init(address: .unixDomainSocket(path: bound)),
            eventLoopGroup: Self.eventLoops, logger: quiet,
            responder: { [quiet] request, writer, channel in
                let context = ControlContext(
                    source: ApplicationRequestContextSource(channel: channel, logger: quiet))
                let response = try await responder.respond(to: request, context: context)
                try await writer.write(response: response.head, body: response.body)
            },
            onServerRunning: { [socket, logger, onRunning] _ in
                do {
                    try socket.publish(bound)
                } catch {
                    logger.error(
                        "the control socket can't be created, so no command reaches this agent",
                        metadata: ["path": "\(socket.path)", "reason": "\(error)"])
                }
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
