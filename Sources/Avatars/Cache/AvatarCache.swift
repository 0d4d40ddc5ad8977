public import Logging
import LinuxSystem
public import MediaTools
public import PictureJobs
import UploadCore

/// Pictures of the web, mirrored and drawn in styles: one download for each URL, one drawing for each style of it,
/// however many ask.
///
/// It looks in memory, then for the styled file, then for the original, then asks the server. What the mirror does
/// blocks, so the actor has a thread of its own.
public actor AvatarCache {
    /// A picture that is stale is shown without asking for this long after its server could not be asked.
    static let stalePause = Duration.seconds(30)

    typealias Continuation = CheckedContinuation<Result<AvatarPicture, AvatarFailure>, Never>

    /// A picture in memory, and until when it is shown without asking its server.
    struct Shown: Sendable {
        var picture: AvatarPicture
        var until: MonotonicTime
        /// Whether it came over TLS.
        var isSecure: Bool
    }

    let store: any AvatarStore
    let fetcher: any AvatarFetching
    let pictures: any PictureWorking
    /// For what nobody is in a hurry for.
    let background: any PictureWorking
    let options: AvatarOptions
    let clock: AvatarClock
    let pressure: any MemoryPressureSource
    let onEvent: @Sendable (AvatarEvent) -> Void
    let logger: Logger

    var desk: AvatarDesk
    var memory: PictureMemory<Shown>
    /// URLs that are not asked again for now.
    var blacklist: Blacklist
    /// Originals that are kept and can't be drawn.
    var undrawable: Blacklist
    /// Where to tell what concerns the wanted pictures, while somebody looks after them.
    var wanted: AsyncStream<WantedSignal>.Continuation?
    /// What is in the mirror; nil until somebody counts it.
    var mirrored: MirrorCount?
    /// Whether the mirror is too large for no other reason than that somebody waits for what is in it.
    var isOvergrown = false
    var pinned: AvatarAddress?
    /// Until when a stale original is shown without asking its server, which could not be reached.
    var patience: [AvatarAddress: MonotonicTime] = [:]
    var jobs: [AvatarDesk.Job: Task<Void, Never>] = [:]
    private(set) var waiters: [AvatarDesk.Waiter: Continuation] = [:]
    private var lastWaiter: UInt64 = 0
    private let thread = SerialThread(name: "avatars")

    /// The thread of its own (Actor).
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// A cache over a store.
    ///
    /// - Parameters:
    ///   - store: where pictures are kept; nobody else changes it meanwhile.
    ///   - fetcher: asks servers.
    ///   - pictures: measures and draws.
    ///   - background: measures and draws what only `wanted.txt` asks for; nil: `pictures` does.
    ///   - options: limits and places.
    ///   - clock: what time it is.
    ///   - pressure: says that memory is short.
    ///   - onEvent: told what happens; called on the cache's thread, and must not block.
    ///   - logger: for people.
    public init(
        store: any AvatarStore, fetcher: any AvatarFetching, pictures: any PictureWorking,
        background: (any PictureWorking)? = nil, options: AvatarOptions = AvatarOptions(), clock: AvatarClock = .system,
        pressure: any MemoryPressureSource = KernelMemoryPressure(),
        onEvent: @escaping @Sendable (AvatarEvent) -> Void = { _ in }, logger: Logger
    ) {
        self.store = store
        self.fetcher = fetcher
        self.pictures = pictures
        self.background = background ?? pictures
        self.options = options
        self.clock = clock
        self.pressure = pressure
        self.onEvent = onEvent
        self.logger = logger
        desk = AvatarDesk(maximumDownloads: options.maximumDownloads)
        memory = PictureMemory(costLimit: options.memoryLimit)
        blacklist = Blacklist(pause: options.retryFailedAfter)
        undrawable = Blacklist(pause: options.retryFailedAfter)
    }

    /// A picture in a style, fetched and drawn where need be.
    ///
    /// A stale picture is asked for again first, and given all the same where its server can't be reached. Cancelling
    /// the task gives up this request alone; a download nobody waits for any more is stopped.
    ///
    /// - Throws: ``AvatarFailure``.
    public func picture(_ address: AvatarAddress, _ style: PictureStyle) async throws(AvatarFailure) -> AvatarPicture {
        try await picture(AvatarDesk.Wish(address: address, style: style), isUrgent: true)
    }

    /// A picture as it is kept, stale or not, drawn where need be; never asks the network.
    ///
    /// - Returns: nil where there is nothing to show.
    public func kept(_ address: AvatarAddress, _ style: PictureStyle) async -> AvatarPicture? {
        let wish = AvatarDesk.Wish(address: address, style: style)
        guard let found = try? find(wish) else { return nil }
        if let stored = found.picture { return try? picture(stored, found.record, wish.style) }
        if wish.style.isOriginal { return nil }
        return try? await wait { $0.draw(wish, for: $1, isUrgent: true, mayDownload: false) }
    }

    func picture(_ wish: AvatarDesk.Wish, isUrgent: Bool) async throws(AvatarFailure) -> AvatarPicture {
        switch try lookUp(wish) {
        case .picture(let picture): return picture
        case .original: return try await wait { $0.draw(wish, for: $1, isUrgent: isUrgent) }
        case .nothing:
            let picture = try await wait { $0.download(wish, for: $1, isUrgent: isUrgent) }
            // It may have joined a download that another one had begun over plain http.
            guard case .nothing? = try? lookUp(wish), wish.address.isSecure else { return picture }
            let isInsecure = (try? store.record(of: wish.address)).flatMap { $0 }?.isSecure == false
            return isInsecure ? try await wait { $0.download(wish, for: $1, isUrgent: isUrgent) } : picture
        }
    }

    // MARK: Waiting

    private func wait(
        _ ask: (inout AvatarDesk, AvatarDesk.Waiter) -> [AvatarDesk.Action]
    ) async throws(AvatarFailure) -> AvatarPicture {
        lastWaiter += 1
        let waiter = AvatarDesk.Waiter(number: lastWaiter)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: Continuation) in
                if Task.isCancelled { return continuation.resume(returning: .failure(.cancelled)) }
                waiters[waiter] = continuation
                perform(ask(&desk, waiter))
            }
        } onCancel: {
            Task { await self.leave(waiter) }
        }
        return try result.get()
    }

    private func leave(_ waiter: AvatarDesk.Waiter) {
        perform(desk.leave(waiter))
    }

    func answer(_ waiters: Set<AvatarDesk.Waiter>, _ result: Result<AvatarPicture, AvatarFailure>) {
        for waiter in waiters { self.waiters.removeValue(forKey: waiter)?.resume(returning: result) }
    }
}
