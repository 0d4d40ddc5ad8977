import Glibc
import Hummingbird
import HummingbirdCore
import LinuxSystem
package import Logging
import NIOCore
import NIOPosix
package import Reports
import RequestTurns
import ServiceLifecycle

/// The control interface: HTTP on a Unix socket that only its owner can use, and the dashboard on a loopback address
/// (docs/http.md).
package struct ControlServer: Service {
    /// One thread is enough for commands and a browser; each more costs 200 KiB.
    private static let eventLoops = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    private let socket: ControlSocketPath
    private let dashboard: Dashboard?
    private let backend: any ControlBackend
    private let sources: any SourceBackend
    private let drops: (any DropBackend)?
    private let pictures: Pictures
    private let readiness: Readiness
    private let logger: Logger
    private let onRunning: @Sendable () -> Void
    private let onTrouble: @Sendable (String?) -> Void

    /// The maximum number of connections to the socket. Commands hold one for a moment, pages and programs that follow
    /// events for long. Uploads need most of the descriptors.
    static func mostSocketConnections(descriptors: UInt64?) -> Int {
        guard let descriptors else { return 64 }
        return min(64, max(4, (Int(clamping: descriptors) - 64) / 4))
    }

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
    ///   - dashboard: the dashboard's address; nil for no dashboard.
    ///   - backend: answers requests about files.
    ///   - sources: answers requests about sources.
    ///   - drops: takes files that clients send; nil to refuse them.
    ///   - pictures: answer requests about avatars and the portrait.
    ///   - readiness: whether requests can be answered.
    ///   - onRunning: called when the server runs, and when it ends.
    ///   - onTrouble: called with a message for people if connections are refused, and with `nil` when that is over.
    package init(
        socket: String, dashboard: Dashboard? = nil, backend: any ControlBackend, sources: any SourceBackend,
        drops: (any DropBackend)? = nil, pictures: Pictures,
        readiness: Readiness = Readiness(isReady: true), logger: Logger, onRunning: @escaping @Sendable () -> Void = {},
        onTrouble: @escaping @Sendable (String?) -> Void = { _ in }
    ) {
        self.onTrouble = onTrouble
        self.readiness = readiness
        self.pictures = pictures
        self.onRunning = onRunning
        self.socket = ControlSocketPath(socket)
        self.dashboard = dashboard
        self.backend = backend
        self.sources = sources
        self.drops = drops
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
        try await withThrowingTaskGroup(of: Void.self) { group in
            if let dashboard { group.addTask { await serve(dashboard) } }
            try await serveSocket()
        }
    }

    private func serveSocket() async throws {
        let router = router { SessionRoutes(backend: backend).add(to: $0) }
        let bound = try socket.makeDraft()
        defer { socket.removeDraft() }
        let seats = ConnectionSeats(limit: Self.mostSocketConnections(descriptors: processLimit(.openFiles))) {
            [onTrouble] count in
            onTrouble(
                count.map {
                    "programs hold \($0) connections to the control socket, so that others are closed; end those programs, "
                        + "or have them close their connections"
                })
        }
        let server = try server(
            router, configuration: .init(address: .unixDomainSocket(path: bound)),
            connections: .init(
                additionalChannelHandlers: [ClientPresence(), SocketConnection(seats)],
                idleTimeout: SocketConnection.idleTimeout)
        ) { [socket, logger, onRunning] _ in
            do {
                try socket.publish(bound)
            } catch {
                logger.error(
                    "the control socket can't be created, so no command reaches this agent",
                    metadata: ["path": "\(socket.path)", "reason": "\(error)"])
            }
            onRunning()
        }
        defer { unlink(socket.path) }
        do {
            try await server.run()
        } catch let error as IOError {
            throw socket.refusal("\(error)")
        }
    }

    /// Serves the dashboard on the first port that is free. The agent works without it as well.
    private func serve(_ dashboard: Dashboard) async {
        let ports = dashboard.address.ports
        for (index, port) in ports.enumerated() {
            let isLast = index == ports.count - 1
            let twin = LoopbackTwin(of: dashboard.address, port: port)
            if twin.isForeign, !isLast { continue }
            do {
                try await serve(dashboard, beside: twin)
                break
            } catch {
                if Dashboard.isBusy(error), !isLast { continue }
                dashboard.reportTrouble(error, logger)
            }
        }
        await dashboard.withdraw()
    }

    private func serve(_ dashboard: Dashboard, beside twin: LoopbackTwin) async throws {
        let (host, keys) = (dashboard.address.host, DashboardKeys())
        let seats = ConnectionSeats(limit: Dashboard.mostConnections)
        let access = { @Sendable (port: Int) in
            DashboardAccess(host: host, port: port, keys: keys, servesLocalhost: !twin.isForeign)
        }
        let guardian = DashboardGuard(access: access, metricsTokenFile: dashboard.metricsTokenFile, seats: seats)
        let router = router(behind: guardian) { router in
            PageRoutes().add(to: router)
            DocumentRoutes().add(to: router)
        }
        let server = try server(
            router,
            configuration: .init(address: .hostname(dashboard.address.bindAddress, port: twin.port), backlog: 4096),
            connections: .init(
                additionalChannelHandlers: [RequestTurns(), ClientPresence(), DashboardConnection(seats)],
                idleTimeout: DashboardConnection.idleTimeout,
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100))
        ) { [logger] channel in
            await dashboard.publish(access(channel.localAddress?.port ?? twin.port), logger)
        }
        try await server.run()
        withExtendedLifetime(twin) {}
    }

    /// Returns a router with the routes that socket and dashboard share, and others.
    ///
    /// - Parameter access: decides about each request first; nil to serve all.
    private func router(
        behind access: DashboardGuard? = nil, _ addOthers: (Router<ControlContext>) -> Void
    ) -> Router<ControlContext> {
        let router = Router(context: ControlContext.self, options: .autoGenerateHeadEndpoints)
        if let access { router.add(middleware: access) }
        router.add(middleware: ControlErrors())
        router.add(middleware: ReadinessGate(readiness: readiness))
        ControlRoutes(backend: backend, sources: sources, avatars: pictures.avatars).add(to: router)
        AvatarRoutes(backend: pictures.avatars, placeholder: pictures.placeholder).add(to: router)
        if let profile = pictures.profile { ProfileRoutes(backend: profile).add(to: router) }
        if let drops { DropRoutes(backend: drops).add(to: router) }
        addOthers(router)
        return router
    }

    /// `Application` is not used: its clock for `Date` headers wakes an idle agent every second.
    private func server(
        _ router: Router<ControlContext>, configuration: ServerConfiguration,
        connections: HTTP1Channel.Configuration, onRunning: @escaping @Sendable (any Channel) async -> Void
    ) throws -> any Service {
        var quiet = logger
        quiet.logLevel = max(quiet.logLevel, .warning)
        let responder = router.buildResponder()
        return try HTTPServerBuilder.http1(configuration: connections).buildServer(
            configuration: configuration, eventLoopGroup: Self.eventLoops, logger: quiet,
            responder: { [quiet] request, writer, channel in
                let context = ControlContext(
                    source: ApplicationRequestContextSource(channel: channel, logger: quiet))
                let response = try await responder.respond(to: request, context: context)
                try await writer.write(response: response.head, body: response.body)
            },
            onServerRunning: { [onTrouble] channel in
                try? await channel.eventLoop.submit {
                    let pause = AcceptPause { error in
                        onTrouble(
                            error.map {
                                "connections wait, since the agent got no descriptor for them: \($0); raise `ulimit -n`, or "
                                    + "LimitNOFILE= of the service"
                            })
                    }
                    try channel.pipeline.syncOperations.addHandler(pause, position: .first)
                }.get()
                await onRunning(channel)
            })
    }
}
