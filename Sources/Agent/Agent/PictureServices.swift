import AgentConfiguration
import Clocks
import Avatars
import ControlAPI
import Intake
import LinuxSystem
import Logging
import MediaTools
import PictureJobs
import Portrait
import Products
import Remotes
import Session
import Transport
import UploadCore

/// The agent's picture services besides the upload: measurements and thumbnails, the mirror of the server's pictures,
/// and the user's own picture.
struct PictureServices: Sendable {
    /// Measures and draws pictures in separate processes.
    let worker: PictureWorker
    /// Examines dropped files.
    let examiner: MediaExaminer
    /// The profile picture; `nil` without a portrait folder.
    let portrait: (service: PortraitService, folder: RelativePath)?
    /// The mirror; `nil` if its directory can't be used.
    private let mirror: Mirror?
    private let videos: VideoTools
    private let placeholder: PlaceholderPicture
    private let logger: Logger

    private struct Mirror: Sendable {
        let cache: AvatarCache
        let answers: AvatarMirror
        let transport: CurlTransport
    }

    /// What the profile picture service needs from the agent.
    struct PortraitNeeds {
        var files: OutboxFiles
        var remote: any Remote
        var session: SessionKeeper
        var clock: any Clocks
    }

    init(
        _ configuration: Configuration, environment: [String: String], version: String, events: EventHub,
        portrait needs: PortraitNeeds, logger: Logger
    ) {
        self.logger = logger
        worker = PictureWorker(program: PictureWorker.find(environment: environment), logger: logger)
        videos = VideoTools.find(in: environment["PATH"])
        examiner = MediaExaminer(
            pictures: worker.background, videos: videos,
            thumbnails: configuration.media.thumbnails ? configuration.state + "/thumbnails" : nil, logger: logger)
        placeholder = PlaceholderPicture.load(path: configuration.avatarCache.placeholder, logger: logger)
        mirror = Self.makeMirror(configuration, worker, version: version, events: events, logger)
        portrait = Self.makePortrait(configuration, needs, worker, mirror?.cache, logger)
    }

    /// Returns what makes products; nil if no type of file has a recipe.
    func productMaker(
        _ configuration: Configuration, environment: [String: String], files: OutboxFiles, hashPool: HashPool
    ) -> ProductMaker? {
        let recipes = configuration.media.recipes
        if recipes.fingerprint.isEmpty {
            ProductMaker.removeLeftovers(of: configuration.state)
            return nil
        }
        let exiftool = LocationRemover.findProgram(in: environment["PATH"])
        return ProductMaker(
            ProductMaker.Parts(
                folder: ContentFolder(products: configuration.state + "/products"),
                conversions: conversions(recipes, exiftool: exiftool),
                remover: LocationRemover(
                    program: exiftool, directory: configuration.state + "/location", tools: videos,
                    removal: recipes.removal ?? .positions),
                open: { files.open($0, ifStill: $1) },
                hash: { await hashPool.hash($0) },
                measure: { [examiner] in await examiner.measure($0, $1) ?? MediaFacts() }))
    }

    private func conversions(_ recipes: Recipes, exiftool: String?) -> [MediaType.Kind: any ProductStep] {
        var steps: [MediaType.Kind: any ProductStep] = [:]
        if case .jpeg(let quality, let side) = recipes.pictures {
            steps[.image] = PictureCompressor(
                worker: worker, quality: quality, maximumSide: side, exiftool: exiftool)
        }
        if case .mp4(let height, let quality) = recipes.videos {
            steps[.video] = VideoTranscoder(tools: videos, height: height, quality: quality)
        }
        return steps
    }

    /// The parts for the control interface.
    var control: ControlServer.Pictures {
        ControlServer.Pictures(avatars: mirror?.answers, profile: portrait?.service, placeholder: placeholder)
    }

    /// Opens the thumbnail of a content; `nil` if there is none. Blocks.
    func thumbnail(of key: ContentKey) -> SharedDescriptor? { examiner.thumbnail(of: key) }

    /// Maintains the mirror until cancelled. Logs missing tools once.
    func run() async {
        // Starting the worker early measures even the first picture before its registration. Without libvips, the
        // worker logs that.
        worker.warmUp()
        if let missing = videos.missing { logger.notice("\(missing); uploads continue without") }
        await mirror?.cache.run()
    }

    /// Retries downloads that failed because the network was down.
    func networkChanged() {
        guard let cache = mirror?.cache else { return }
        Task { await cache.networkChanged() }
    }

    /// Ends all processes and connections.
    func stop() async {
        mirror?.answers.stop()
        await worker.shutdown()
        mirror?.transport.shutdown()
    }

    private static func makeMirror(
        _ configuration: Configuration, _ worker: PictureWorker, version: String, events: EventHub, _ logger: Logger
    ) -> Mirror? {
        do {
            let store = try DiskAvatarStore(directory: configuration.avatars)
            // A separate transport keeps the account's connections and token away from foreign servers.
            let transport = try CurlTransport(configuration: .init(userAgent: "outbox/\(version)"))
            let tally = AvatarTally(events: events)
            let settings = configuration.avatarCache
            let cache = AvatarCache(
                store: store,
                fetcher: CurlFetcher(
                    transport: transport, policy: AddressPolicy(allowsPrivate: settings.allowPrivate),
                    allowedHosts: settings.allowedHosts),
                pictures: worker, background: worker.background, options: AvatarOptions(configuration),
                onEvent: { tally.take($0) }, logger: logger)
            let answers = AvatarMirror(cache: cache, configuration: configuration, tally: tally)
            return Mirror(cache: cache, answers: answers, transport: transport)
        } catch {
            logger.warning(
                "the avatar mirror can't be used; uploads continue",
                metadata: ["avatars": "\(configuration.avatars)", "reason": "\(error)"])
            return nil
        }
    }

    private static func makePortrait(
        _ configuration: Configuration, _ needs: PortraitNeeds, _ worker: PictureWorker, _ cache: AvatarCache?,
        _ logger: Logger
    ) -> (service: PortraitService, folder: RelativePath)? {
        guard let folder = RelativePath(configuration.portrait.folder), folder != .root else { return nil }
        let session = needs.session
        let parts = PortraitService.Parts(
            state: configuration.state, avatars: configuration.avatars, files: needs.files, pictures: worker,
            remote: (needs.remote as? any PortraitRemote).map {
                SignedInPortraitRemote(remote: $0, session: session)
            },
            cache: PortraitCache(
                adopt: { picture, url in
                    guard let cache else { return nil }
                    return try await cache.adopt(picture, as: AvatarAddress(url)).path
                },
                pin: { url in
                    guard let cache, let address = try? AvatarAddress(url) else { return nil }
                    await cache.pin(address)
                    return await cache.kept(address, .original)?.path
                }),
            account: { session.hasCredential ? session.account.name : nil },
            quality: Int((configuration.portrait.jpegQuality * 100).rounded()),
            maximumPixels: configuration.avatarCache.maxPixels, retryInterval: configuration.upload.retryInterval,
            clock: needs.clock,
            logger: logger)
        return (PortraitService(parts), folder)
    }
}

extension PortraitService: ProfileBackend {
    func profileText() async -> [UInt8] { profile().json }
}
