import Glibc
import Hummingbird
import HummingbirdCore
import LinuxSystem
public import Logging
import MediaTools
import NIOCore
import NIOPosix
import RequestTurns
import ServiceLifecycle
import SystemPackage

/// The reference server for the fileSection protocol: receives uploads, stores them on disk, serves them.
public final class Receiver: Sendable {
    private static let expiryInterval = Duration.seconds(600)
    /// A connection is closed after this time of silence.
    private static let idleTimeout = TimeAmount.seconds(120)
    /// So many clients may connect in the same moment. The others try again after a second (man 2 listen).
    private static let backlog = 4096

    private let configuration: ReceiverConfiguration
    private let logger: Logger
    private let store: Store
    private let tokens: Tokens
    private let metricsTokens: Tokens?
    private let pictureWorker: PictureWorker?
    private let smallPictures: SmallPictures?
    private let threads = DiskThreads(count: 2)

    /// Opens the storage and checks the configuration. Does not listen yet.
    ///
    /// - Parameters:
    ///   - configuration: The root directory, addresses, tokens and limits.
    ///   - logger: Receives all messages; requests at `debug`.
    ///   - now: The time in seconds since 1970, nil for the system's clock. Expiry uses this clock, because ages must
    ///     survive restarts.
    /// - Throws: ``StartFailure``.
    public init(
        _ configuration: ReceiverConfiguration, logger: Logger,
        now: (@Sendable () -> Int64)? = nil
    ) throws(StartFailure) {
        self.configuration = configuration
        self.logger = logger
        let tokens = try Tokens(text: configuration.tokens, path: configuration.tokenFile, logger: logger)
        self.tokens = tokens
        metricsTokens = try configuration.metricsTokenFile.map { path throws(StartFailure) in
            try Tokens(text: nil, path: path, mayBeEmpty: true, logger: logger)
        }
        guard tokens.areNeeded || configuration.listen.isLoopback else {
            throw .configuration(
                "without tokens the receiver listens on loopback addresses only, not on \(configuration.listen.host); "
                    + "give --token-file or OUTBOX_RECEIVER_TOKENS with a line \"token user\" for each user")
        }
        store = try Store(
            path: configuration.root,
            limits: Store.Limits(
                freeSpaceFloor: configuration.freeSpaceFloor, maximumFileSize: configuration.maximumFileSize,
                maximumOpenUploads: configuration.maximumOpenUploads, quota: configuration.quota,
                ownQuotas: { tokens.quotas }),
            synchronizes: configuration.synchronizes, logger: logger,
            now: now ?? { Int64(time(nil)) })
        store.expire()
        pictureWorker = configuration.mediaWorker.map { program in
            PictureWorker(program: program, processes: 2, logger: logger)
        }
        do throws(Errno) {
            let (store, pictureWorker) = (store, pictureWorker)
            smallPictures = try pictureWorker.map { worker throws(Errno) in
                try SmallPictures(store, worker: worker)
            }
        } catch {
            // A full disk, perhaps. Pages show the pictures themselves.
            smallPictures = nil
            logger.error(
                "small pictures are off until the next start",
                metadata: ["error": "cannot create \(configuration.root)/thumbnails: \(error)"])
        }
    }

    /// Serves until the task is cancelled or `stop` returns. At shutdown, running requests get one more second.
    ///
    /// - Parameters:
    ///   - onReady: Called with the URL once the server accepts connections.
    ///   - stop: Returns when the server should stop; nil waits for the task's cancellation.
    /// - Throws: ``StartFailure/cannotCreate(_:)`` if the server cannot listen on the address.
    public func run(
        onReady: @escaping @Sendable (_ url: String) async -> Void,
        until stop: (@Sendable () async -> Void)? = nil
    ) async throws {
        // Accepting connections and housekeeping may block, so both run on these threads. Nobody cancels this task: a
        // cancellation in the moment of an accept could wait for ever, see ``OpenConnections``.
        let (end, ending) = AsyncStream.makeStream(of: Never.self)
        let serving = Task(executorPreference: threads) { [self] in try await serve(onReady, until: end) }
        let waiting = stop.map { stop in
            Task {
                await stop()
                ending.finish()
            }
        }
        defer { waiting?.cancel() }
        try await withTaskCancellationHandler {
            try await serving.value
        } onCancel: {
            ending.finish()
        }
    }

    private func serve(
        _ onReady: @escaping @Sendable (String) async -> Void, until end: AsyncStream<Never>
    ) async throws {
        let listen = configuration.listen
        let addresses = Addresses(listen: listen, publicURL: configuration.publicURL)
        let visitors = Visitors(
            total: configuration.maximumConnections, perAddress: configuration.maximumConnectionsPerAddress)
        let connections = OpenConnections()
        let application = Application(
            responder: Responder(
                store: store, tokens: tokens, addresses: addresses, visitors: visitors, smallPictures: smallPictures,
                signIn: SignIn(tokens: tokens, addresses: addresses, store: store),
                monitoring: Monitoring(store: store, hasStrangers: tokens.areNeeded, readers: metricsTokens),
                requestCounts: RequestCounts()),
            server: HTTPServerBuilder { responder in
                Connections(
                    http: HTTP1Channel(responder: responder, configuration: Self.connection(visitors)),
                    open: connections)
            },
            configuration: .init(
                address: .hostname(listen.host, port: listen.port), serverName: "outbox-receiver",
                backlog: Self.backlog),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? listen.port
                addresses.setPort(port)
                await onReady(ListenAddress(host: listen.host, port: port).url)
            },
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), logger: logger)
        let serving = Serving(application: application, connections: connections, pictureWorker: pictureWorker)
        let expiry = Expiry(store: store, smallPictures: smallPictures, interval: Self.expiryInterval)
        // Each has a name, since the default is a dump of the whole value.
        let services = ServiceGroupConfiguration(
            services: [
                .init(service: serving, serviceName: "http"), .init(service: expiry, serviceName: "expiry"),
                .init(
                    service: Stop(end: end), successTerminationBehavior: .gracefullyShutdownGroup, serviceName: "stop"),
            ], logger: logger)
        do {
            try await ServiceGroup(configuration: services).run()
        } catch {
            throw StartFailure(error, listeningOn: listen) ?? error
        }
    }
}

extension Receiver {
    private static func connection(_ visitors: Visitors) -> HTTP1Channel.Configuration {
        HTTP1Channel.Configuration(
            additionalChannelHandlers: [
                SocketOptions(sendTimeout: idleTimeout), RequestTurns(), RequestGuard(visitors: visitors),
            ],
            idleTimeout: idleTimeout,
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100))
    }
}

/// Runs the housekeeping at a fixed interval.
private struct Expiry: Service {
    let store: Store
    let smallPictures: SmallPictures?
    let interval: Duration

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: interval)
                store.keepHouse()
                smallPictures?.removeStale()
                // After many requests at a time, glibc keeps what they needed.
                Memory.trimHeap()
            }
        }
    }
}

/// Serves requests. When asked to end, lets running requests continue for a second, then closes their connections.
private struct Serving<Content: ApplicationProtocol>: Service {
    let application: Content
    let connections: OpenConnections
    let pictureWorker: PictureWorker?

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await application.run()
        } onGracefulShutdown: {
            Task { await pictureWorker?.shutdown() }
            Task {
                try? await Task.sleep(for: .seconds(1))
                connections.close()
            }
        }
    }
}

/// Ends the server at the end of a stream.
private struct Stop: Service {
    let end: AsyncStream<Never>

    func run() async throws {
        await cancelWhenGracefulShutdown { for await _ in end {} }
    }
}
