import LinuxSystem
public import Logging
public import MediaTools
public import PictureJobs
import UploadCore

/// A mirror of web pictures in several styles. Coalesces requests: one download for each URL, and one drawing for each
/// of its styles.
///
/// Looks in memory, then for the styled file, then for the original, then asks the server. The store blocks, so the
/// actor has a thread of its own.
public actor AvatarCache {
    /// How long to show a stale picture without asking again after its server was unreachable.
    static let stalePause = Duration.seconds(30)

    typealias Continuation = CheckedContinuation<Result<AvatarPicture, AvatarFailure>, Never>

    /// A picture in memory, and the time until which it is shown without asking its server.
    struct Shown: Sendable {
        var picture: AvatarPicture
        var until: MonotonicTime
        /// Whether the picture was fetched over TLS.
        var isSecure: Bool
    }

    let store: any AvatarStore
    let fetcher: any AvatarFetching
    let pictures: any PictureWorking
    /// The worker for requests without urgency.
    let background: any PictureWorking
    let options: AvatarOptions
    let clock: AvatarClock
    let pressure: any MemoryPressureSource
    let onEvent: @Sendable (AvatarEvent) -> Void
    let logger: Logger

    var desk: AvatarDesk
    var memory: PictureMemory<Shown>
    /// URLs that are temporarily not requested.
    var blacklist: Blacklist
    /// Stored originals that can't be drawn.
    var undrawable: Blacklist
    /// Receives signals about wanted pictures while ``run()`` maintains them.
    var wanted: AsyncStream<WantedSignal>.Continuation?
    /// The size of the mirror; nil before the first count.
    var mirrored: MirrorCount?
    /// Whether the mirror exceeds its limit only because of pictures with waiters.
    var isOvergrown = false
    var pinned: AvatarAddress?
    /// For unreachable servers: until this time, a stale original is shown without asking.
    var patience: [AvatarAddress: MonotonicTime] = [:]
    var jobs: [AvatarDesk.Job: Task<Void, Never>] = [:]
    private(set) var waiters: [AvatarDesk.Waiter: Continuation] = [:]
    private var lastWaiter: UInt64 = 0
    private let thread = SerialThread(name: "avatars")

    /// The actor's own thread.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Creates a cache over a store.
    ///
    /// - Parameters:
    ///   - store: Keeps the pictures. No other code of this process may change it.
    ///   - fetcher: Sends requests to servers.
    ///   - pictures: Measures and draws.
    ///   - background: Measures and draws pictures that only `wanted.txt` needs; nil: `pictures`.
    ///   - options: Limits and places.
    ///   - clock: The clock.
    ///   - pressure: Warns of low memory.
    ///   - onEvent: Called for each event on the cache's thread; must not block.
    ///   - logger: The log.
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

    /// Returns a picture in a style; fetches and draws if needed.
    ///
    /// A stale picture is revalidated first, and returned anyway if its server is unreachable. Cancelling the task
    /// gives up only this request; a download without waiters is stopped.
    ///
    /// - Throws: ``AvatarFailure``.
    public func picture(_ address: AvatarAddress, _ style: PictureStyle) async throws(AvatarFailure) -> AvatarPicture {
        try await picture(AvatarWish(address: address, style: style), isUrgent: true)
    }

    /// Returns a stored picture, stale or not; draws if needed. Never uses the network.
    ///
    /// - Returns: nil if there is no picture to show.
    public func kept(_ address: AvatarAddress, _ style: PictureStyle) async -> AvatarPicture? {
        let wish = AvatarWish(address: address, style: style)
        guard let found = try? find(wish) else { return nil }
        if let stored = found.picture { return try? picture(stored, found.record, wish.style) }
        if wish.style.isOriginal { return nil }
        return try? await wait { $0.draw(wish, for: $1, isUrgent: true, mayDownload: false) }
    }

    func picture(_ wish: AvatarWish, isUrgent: Bool) async throws(AvatarFailure) -> AvatarPicture {
        switch try lookUp(wish) {
        case .picture(let picture): return picture
        case .original: return try await wait { $0.draw(wish, for: $1, isUrgent: isUrgent) }
        case .nothing:
            let picture = try await wait { $0.download(wish, for: $1, isUrgent: isUrgent) }
            // The request may have joined a download that began over plain http.
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
