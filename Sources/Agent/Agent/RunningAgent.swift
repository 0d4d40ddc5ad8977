import AgentConfiguration
import Clocks
import ControlAPI
import Digests
import FileWatch
import Glibc
import Hooks
import Intake
import Ledger
import LinuxSystem
import Logging
import NetworkWatch
import Remotes
import ServiceLifecycle
import Session
import Sidecars
import SystemPackage
import SystemdService
import Transport
import UploadCore

/// Creates and connects all components of a running agent.
struct RunningAgent: Service {
    let configuration: Configuration
    let uploader: Uploader
    let backend: AgentBackend
    let drops: OutboxDrops
    let watch: FileWatch
    let files: OutboxFiles
    let ledger: Ledger
    let ledgerCare: LedgerCare
    let end: AgentEnd
    let transport: CurlTransport
    let network: NetworkWatch
    let pictures: PictureServices
    let hooks: HookDesk?
    let session: SessionKeeper
    let environment: [String: String]
    let version: String
    let notifier: ServiceNotifier
    let logger: Logger
    /// Ends when the control interface answers, or can't any more.
    private let controlIsUp = AsyncStream.makeStream(of: Never.self)
    /// Ready when the uploader has restored the ledger's content, or has failed to.
    private let readiness = Readiness()

    init(
        _ configuration: Configuration, environment: [String: String], version: String, notifier: ServiceNotifier,
        settings: @escaping @Sendable () -> [UInt8], logger: Logger
    ) throws {
        self.notifier = notifier
        self.configuration = configuration
        self.environment = environment
        self.version = version
        self.logger = logger
        let end = AgentEnd()
        self.end = end
        let troubles = TroubleReporter(logger: logger, end: end, readiness: readiness)
        let files = try Self.openOutbox(configuration, troubles)
        self.files = files
        ledgerCare = LedgerCare(state: configuration.state, logger: logger)
        ledger = try Self.openLedger(ledgerCare, configuration.state, troubles: troubles)
        transport = try Self.makeTransport(configuration, version: version)
        let credentials = Credentials(configuration, environment: environment)
        if let file = configuration.remote.tokenFile, (try? FileStatus(path: file)) == nil {
            logger.warning(
                "remote.token_file is missing; the agent reads it as soon as it exists", metadata: ["path": "\(file)"])
        }
        if let file = configuration.remote.caFile, access(file, R_OK) != 0 {
            logger.error(
                "remote.ca_file can't be read, so no https connection works; correct the path, or remove the key",
                metadata: ["path": "\(file)", "reason": "\(Errno(rawValue: errno))"])
        }
        let account = Account.current(
            session: SessionStore(stateDirectory: configuration.state), ledger: ledger, origin: credentials.origin,
            change: { end.raise(.accountChanged) })
        session = SessionKeeper(credentials, account: account)
        guard let kind = configuration.remote.kind else {
            throw AgentFailure.configuration("the table [remote] contradicts itself")
        }
        let remote = kind.remote(account: account.name, transport: transport, credentials: session)
        let clock = SystemClocks()
        let events = try Self.makeEvents(ledger, clock)
        pictures = PictureServices(
            configuration, environment: environment, version: version, events: events,
            portrait: .init(files: files, remote: remote, session: session, clock: clock),
            logger: logger)
        let memory = MemoryReturn()
        uploader = try Self.makeUploader(
            configuration, ledger, remote, session, pictures, events, transport, environment: environment, files: files,
            troubles: troubles, version: version,
            onChange: {
                notifier.changed()
                memory.worked()
            }, logger)
        hooks = uploader.parts.hooks
        troubles.tell(uploader)
        let watch = try Self.makeWatch(configuration, files, uploader: uploader, ledger: ledger)
        self.watch = watch
        backend = AgentBackend(
            uploader: uploader, ledger: ledger, session: session, events: events,
            watchCounters: { watch.counters },
            views: AgentBackend.Views(
                thumbnail: { [pictures] in pictures.thumbnail(of: $0) }, settings: settings),
            clock: clock, logger: logger)
        drops = OutboxDrops(files: files, rules: IntakeRules(configuration))
        drops.removeLeftovers()
        network = try Self.makeNetworkWatch(
            uploader: uploader, transport: transport, pictures: pictures, logger: logger)
    }

    func run() async throws {
        do {
            defer { readiness.setReady() }
            try await uploader.start(reconsider: { [watch] in watch.reconsider($0) })
        } catch {
            throw AgentFailure.inputOutput(path: configuration.state + "/ledger.lmdb", reason: "\(error)")
        }
        watch.start()
        network.start()
        let upkeep = Task { await pictures.run() }
        for await _ in controlIsUp.stream {}
        await notifier.ready { [backend] in await backend.statusLine() }
        let looks = [
            Task { await claimOutbox() }, Task { await sayWhetherServerAnswers() },
        ]
        defer { for look in looks { look.cancel() } }
        await end.wait()
        network.stop()
        watch.stop()
        await uploader.stop()
        upkeep.cancel()
        await pictures.stop()
        transport.shutdown()
        ledger.close()
        ledgerCare.close()
        if case .ledgerDamaged(let reason) = end.reason {
            let path = configuration.state + "/ledger.lmdb"
            throw AgentFailure.inputOutput(path: path, reason: "\(reason); the next start rebuilds it")
        }
    }

    /// Adopts the settings that can change while the agent runs.
    func adopt(_ configuration: Configuration) {
        let upload = configuration.upload
        transport.setBandwidthLimit(upload.bandwidthLimit ?? 0)
        transport.setTimeouts(stall: upload.stallTimeout, reply: upload.replyTimeout)
        session.setTokenFile(configuration.remote.tokenFile)
        uploader.run { uploader in
            uploader.handle(.uploads([.setLimits(UploadLimits(upload))]))
            uploader.take(.credentials(isLogout: false))
        }
    }

    /// Creates the control interface of this agent.
    func controlServer() -> ControlServer {
        let socket = configuration.controlSocket(runtimeDirectory: environment["XDG_RUNTIME_DIR"])
        return ControlServer(
            socket: socket, dashboard: dashboard(), backend: backend, sources: backend, drops: drops,
            pictures: pictures.control,
            readiness: readiness, logger: logger
        ) { [controlIsUp] in
            controlIsUp.continuation.finish()
        } onTrouble: { [uploader] message in
            uploader.run { $0.status.problems[.control] = message }
        }
    }

    /// Creates a missing outbox. An outbox that does not answer exists: the agent waits for it.
    private static func openOutbox(
        _ configuration: Configuration, _ troubles: TroubleReporter
    ) throws(AgentFailure) -> OutboxFiles {
        let path = configuration.outbox
        var refusal: String?
        do throws(Errno) {
            let mounts = try OutboxMounts(root: path, lanes: Lanes(stalls: Stalls { troubles.note(stalls: $0) }))
            do throws(Errno) {
                refusal = try mounts.call(.root, "finding") { _ throws(Errno) -> String? in
                    if (try? FileStatus(path: path))?.kind != .directory {
                        try Directory.create(path)
                        _ = try Directory(path: path)
                    }
                    // Check again, since the outbox and the state directory may not have existed before.
                    return configuration.nestingRefusal()
                }
            } catch {
                if error != .timedOut { throw error }
            }
            mounts.refresh()
            if refusal == nil { return OutboxFiles(PinnedDirectory(path: path), mounts: mounts) }
        } catch {
            throw .cannotCreate(path: path, reason: "\(error); set `outbox` to a directory that can be read")
        }
        throw .configuration(refusal ?? "")
    }

    private static func openLedger(
        _ care: LedgerCare, _ state: String, troubles: TroubleReporter
    ) throws(AgentFailure) -> Ledger {
        do {
            return try care.open(onTrouble: { troubles.note($0) })
        } catch {
            throw .inputOutput(path: state + "/ledger.lmdb", reason: "\(error)")
        }
    }

    private static func makeEvents(_ ledger: Ledger, _ clock: any Clocks) throws(AgentFailure) -> EventHub {
        do {
            return EventHub(clock: clock, ledger: try ledger.journalID(), outcome: try ledger.journalEnd())
        } catch {
            throw .inputOutput(path: "the ledger", reason: "\(error)")
        }
    }

    private static func openLog(_ state: String) throws(AgentFailure) -> AcknowledgementLog {
        let path = state + "/acknowledged"
        do {
            return try AcknowledgementLog(path: path)
        } catch {
            throw .cannotCreate(path: path, reason: "\(error)")
        }
    }

    private static func makeTransport(
        _ configuration: Configuration, version: String
    ) throws(AgentFailure) -> CurlTransport {
        let upload = configuration.upload
        do {
            return try CurlTransport(
                configuration: .init(
                    stallTimeout: upload.stallTimeout, replyTimeout: upload.replyTimeout,
                    caFile: configuration.remote.caFile, bandwidthLimit: upload.bandwidthLimit ?? 0,
                    userAgent: "outbox/\(version)"))
        } catch {
            throw .inputOutput(path: configuration.remote.caFile ?? "libcurl", reason: "\(error)")
        }
    }

    private static func makeUploader(
        _ configuration: Configuration, _ ledger: Ledger, _ remote: any Remote, _ session: SessionKeeper,
        _ pictures: PictureServices, _ events: EventHub, _ transport: CurlTransport, environment: [String: String],
        files: OutboxFiles,
        troubles: TroubleReporter, version: String,
        onChange: @escaping @Sendable () -> Void, _ logger: Logger
    ) throws(AgentFailure) -> Uploader {
        let secret: DigestSecret?
        do {
            secret = DigestSecret(try ledger.digestSecret())
        } catch {
            throw .inputOutput(path: configuration.state + "/ledger.lmdb", reason: "\(error)")
        }
        guard let secret else {
            throw .inputOutput(path: configuration.state + "/ledger.lmdb", reason: "its digest secret is damaged")
        }
        let rules = IntakeRules(configuration)
        let store = SidecarStore(mirror: configuration.sidecars.directory, outbox: files)
        let clock = SystemClocks()
        let hashPool = HashPool(
            files: files, rules: rules, secret: secret, threads: processorCount(),
            withSHA256: configuration.intake.afterUpload != .keep, parts: remote.partDigests)
        let products = pictures.productMaker(
            configuration, environment: environment, files: files, hashPool: hashPool)
        let hooks = try openHooks(configuration, ledger, transport, environment, clock, logger)
        let parts = Uploader.Parts(
            ledger: ledger, acknowledgements: try openLog(configuration.state), remote: remote, files: files,
            rules: rules, holding: HoldingArea(root: files.outbox),
            afterUpload: configuration.intake.afterUpload, moveTo: RelativePath(configuration.intake.moveTo) ?? .root,
            hashPool: hashPool,
            secret: secret,
            sidecars: SidecarWriter(
                store: store, writesRejected: configuration.sidecars.rejected, clock: clock, logger: logger,
                onTrouble: { troubles.note(sidecars: $0) }),
            media: pictures.examiner, products: products, recipes: configuration.media.recipes,
            productLimits: ProductQueue.Limits(
                pictures: processorCount(), videos: 1, storedBytes: configuration.media.productsMaxSize),
            portrait: pictures.portrait, sources: remote as? any SourceRemote, events: events,
            session: session, pauseMark: PauseMark(state: configuration.state),
            retention: configuration.sidecars.retention, historyKeep: configuration.history.keep ?? .zero,
            hooks: hooks, heartbeat: Heartbeat(configuration.heartbeat, transport: transport, logger: logger),
            remoteProtocol: configuration.remote.protocol.rawValue, version: version, processID: getpid(),
            clock: clock, onChange: onChange, logger: logger)
        return Uploader(
            parts: parts, limits: UploadLimits(configuration.upload), seed: UInt64.random(in: .min ... .max))
    }

    private static func openHooks(
        _ configuration: Configuration, _ ledger: Ledger, _ transport: CurlTransport, _ environment: [String: String],
        _ clock: any Clocks, _ logger: Logger
    ) throws(AgentFailure) -> HookDesk? {
        if configuration.hooks.isEmpty { return nil }
        do {
            return try HookDesk(
                configuration.hooks, ledger: ledger, transport: transport, environment: environment,
                ceiling: configuration.upload.retryInterval, clock: clock, logger: logger)
        } catch {
            throw .inputOutput(path: configuration.state + "/ledger.lmdb", reason: "\(error)")
        }
    }

    private static func makeWatch(
        _ configuration: Configuration, _ files: OutboxFiles, uploader: Uploader, ledger: Ledger
    ) throws(AgentFailure) -> FileWatch {
        let rules = IntakeRules(configuration)
        let own = PrivateDirectories(
            state: configuration.state,
            others: [configuration.avatars] + [configuration.sidecars.directory].compactMap { $0 })
        let portraits = RelativePath(configuration.portrait.folder) ?? .root
        let options = FileWatch.Options(
            settle: configuration.intake.settle, rescan: configuration.intake.rescan,
            expectedRoot: try? files.status(of: .root),
            isPrivate: { own.contains($0) },
            isIgnored: { path, _ in rules.isIgnored(path) },
            isKnown: { path, status in
                // If the record can't be read, examine the file again.
                guard let record = try? ledger.drop(at: path) else { return false }
                return record.isJudged(for: FileIdentity(status))
            },
            // Posts ask for their files themselves.
            isUrgent: { PostPlaces.directory(of: $0) != nil || portraits != .root && $0.isWithin(portraits) },
            load: uploader.load, mounts: files.mounts)
        do {
            return try FileWatch(root: configuration.outbox, options: options) { events in
                uploader.hear(events)
            }
        } catch {
            throw .inputOutput(path: configuration.outbox, reason: "\(error); set `outbox` to a readable directory")
        }
    }

    private static func makeNetworkWatch(
        uploader: Uploader, transport: CurlTransport, pictures: PictureServices, logger: Logger
    ) throws(AgentFailure) -> NetworkWatch {
        do {
            return try NetworkWatch(
                onTrouble: { reason in
                    logger.warning("the agent can't watch the network fully", metadata: ["reason": "\(reason)"])
                },
                onChange: { change in
                    logger.info("the agent retries waiting uploads at once", metadata: ["because": "\(change)"])
                    // Update the transport before the uploads: requests stuck in the old network then fail and start
                    // over.
                    if change.causes != .clockSet {
                        transport.networkChanged(
                            goneAddresses: Set(change.goneAddresses.map(\.description)),
                            returnedAddresses: Set(change.returnedAddresses.map(\.description)))
                    }
                    uploader.run { $0.handle(.uploads([.networkChanged])) }
                    uploader.parts.hooks?.hurry()
                    pictures.networkChanged()
                })
        } catch {
            throw .inputOutput(path: "eventfd", reason: "\(error)")
        }
    }

    private static func processorCount() -> Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
}

extension UploadLimits {
    init(_ upload: Configuration.Upload) {
        self.init(
            filesInFlight: upload.filesInFlight, fragmentsInFlight: upload.fragmentsInFlight,
            retryInterval: upload.retryInterval, fileTimeout: upload.fileTimeout)
    }
}
