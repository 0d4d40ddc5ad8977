package import Clocks
package import Intake
package import LinuxSystem
package import Logging
package import MediaTools
package import Remotes
package import UploadCore

/// The observers of the portrait service.
package struct PortraitOutlets: Sendable {
    /// Called after each change of a dropped file's report, in order.
    var report: @Sendable (PortraitReport) -> Void = { _ in }
    /// Called for a file that changed after it was hashed, so that the uploader examines it again.
    var reconsider: @Sendable (RelativePath) -> Void = { _ in }
    /// Called when the server refuses the session.
    var sessionRefused: @Sendable (FileError) -> Void = { _ in }
    /// Called on each event of the profile picture, with the answer of `GET /v1/profile` at that moment; in order.
    var announce: @Sendable (_ event: PortraitEvent, _ profile: [UInt8]) -> Void = { _, _ in }

    package init(
        report: @escaping @Sendable (PortraitReport) -> Void = { _ in },
        reconsider: @escaping @Sendable (RelativePath) -> Void = { _ in },
        sessionRefused: @escaping @Sendable (FileError) -> Void = { _ in },
        announce: @escaping @Sendable (_ event: PortraitEvent, _ profile: [UInt8]) -> Void = { _, _ in }
    ) {
        self.report = report
        self.reconsider = reconsider
        self.sessionRefused = sessionRefused
        self.announce = announce
    }
}

/// The avatar cache, where confirmed portraits are kept.
package struct PortraitCache: Sendable {
    /// Stores a picture under a URL and pins it. Returns the file's absolute path; nil if the picture has no file.
    var adopt: @Sendable (_ picture: SharedDescriptor, _ url: String) async throws -> String?
    /// Pins the picture kept under a URL. Returns the file's current absolute path; nil if the cache has no such
    /// picture.
    var pin: @Sendable (_ url: String) async -> String?

    package init(
        adopt: @escaping @Sendable (_ picture: SharedDescriptor, _ url: String) async throws -> String?,
        pin: @escaping @Sendable (_ url: String) async -> String?
    ) {
        self.adopt = adopt
        self.pin = pin
    }
}

/// The profile picture service: accepts pictures from the portrait folder, shows them at once and sends the newest to
/// the server.
///
/// `PortraitMachine` decides, `PortraitFiles` stores, and this actor performs the actions in the order *disk first,
/// action second*. The actor runs on a thread of its own, because it blocks on the disk.
package actor PortraitService {
    /// Everything the service depends on.
    package struct Parts: Sendable {
        /// Absolute path of the state directory.
        var state: String
        /// Absolute path of the avatar mirror.
        var avatars: String
        /// The outbox.
        var files: OutboxFiles
        /// Draws the pictures.
        var pictures: any PictureWorking
        /// Receives the pictures; nil if the protocol has no profile pictures.
        var remote: (any PortraitRemote)?
        /// Keeps the confirmed pictures.
        var cache: PortraitCache
        /// Returns the signed-in account; nil without a token.
        var account: @Sendable () -> String?
        /// JPEG quality, 1…100.
        var quality: Int
        /// Pictures with more pixels are refused.
        var maximumPixels: Int
        /// `upload.retry_interval`.
        var retryInterval: Duration
        var clock: any Clocks
        var logger: Logger

        package init(
            state: String, avatars: String, files: OutboxFiles, pictures: any PictureWorking,
            remote: (any PortraitRemote)? = nil, cache: PortraitCache, account: @escaping @Sendable () -> String?,
            quality: Int, maximumPixels: Int, retryInterval: Duration, clock: any Clocks, logger: Logger
        ) {
            self.state = state
            self.avatars = avatars
            self.files = files
            self.pictures = pictures
            self.remote = remote
            self.cache = cache
            self.account = account
            self.quality = quality
            self.maximumPixels = maximumPixels
            self.retryInterval = retryInterval
            self.clock = clock
            self.logger = logger
        }
    }

    private let thread = SerialThread(name: "portrait")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    let parts: Parts
    var files: PortraitFiles
    var machine: PortraitMachine
    var outlets = PortraitOutlets()
    var requests: [RequestID: Task<Void, Never>] = [:]
    var preparation: Task<Void, Never>?
    var hasStopped = false
    private let seed: UInt64
    private var events: [PortraitMachine.Event] = []
    private var alarm = Alarm()

    /// Creates a service that does nothing before `start`.
    package init(_ parts: Parts, seed: UInt64 = .random(in: .min ... .max)) {
        self.parts = parts
        self.seed = seed
        files = PortraitFiles(state: parts.state, avatars: parts.avatars)
        machine = PortraitMachine(restoring: nil, lastID: 0, retryInterval: parts.retryInterval, seed: seed)
    }

    // MARK: Calls from the uploader, in order and without waiting

    /// Restores the stored state and continues. Must be called once, before any other call.
    ///
    /// - Parameters:
    ///   - outlets: The observers.
    ///   - isAllPaused: Whether the user paused everything. If true, no picture is sent.
    package nonisolated func start(_ outlets: PortraitOutlets, isAllPaused: Bool) {
        run { $0.begin(outlets, isAllPaused) }
    }

    /// Passes on an event: a drop, what became of its file, a user's wish, or news that concern every request.
    package nonisolated func handle(_ event: PortraitMachine.Event) {
        run { $0.process(event) }
    }

    /// Reports that the credentials may have changed: same account, or the first account that signs in.
    package nonisolated func credentialsChanged() {
        run { $0.process(.credentialsChanged(account: $0.parts.account())) }
    }

    /// The current answer for `GET /v1/profile`.
    package func profile() -> ProfileView {
        ProfileView(confirmed: files.kept.profile, pending: machine.pending, current: files.current)
    }

    /// Cancels all work in progress. No picture is lost, and none is sent afterwards.
    package func stop() async {
        hasStopped = true
        alarm.cancel()
        preparation?.cancel()
        for request in requests.values { request.cancel() }
        for request in requests.values { await request.value }
    }

    // MARK: Lifetime

    /// Runs work on the service's thread, after the work already queued.
    nonisolated func run(_ work: @escaping @Sendable (isolated PortraitService) -> Void) {
        thread.run { self.assumeIsolated { work($0) } }
    }

    private func begin(_ outlets: PortraitOutlets, _ isAllPaused: Bool) {
        self.outlets = outlets
        do {
            note(trouble: try files.open())
        } catch {
            parts.logger.error(
                "the profile picture can't be read, so the agent takes the newest one in the portrait folder",
                metadata: ["path": "\(parts.state)/portrait", "reason": "\(error)"])
        }
        machine = PortraitMachine(
            restoring: files.kept.record, lastID: files.kept.lastID, isSupported: parts.remote != nil,
            retryInterval: parts.retryInterval, seed: seed)
        if let profile = files.kept.profile { pin(profile) }
        process(.started(account: parts.account(), isAllPaused: isAllPaused))
    }

    /// Pins the confirmed picture in the avatar cache, and shows the cache's copy.
    private func pin(_ profile: Profile) {
        Task {
            guard let picture = await self.parts.cache.pin(Profile.cacheURL(of: profile.portraitURL)) else { return }
            self.pinned(profile, at: picture)
        }
    }

    private func pinned(_ profile: Profile, at picture: String) {
        if hasStopped || files.kept.profile != profile { return }
        do {
            note(trouble: try files.relocate(to: picture))
        } catch {
            note(trouble: error)
        }
    }

    /// Passes an event to the machine and performs its actions.
    ///
    /// Events caused by these actions wait until all actions are performed.
    func process(_ event: PortraitMachine.Event) {
        events.append(event)
        if events.count > 1 { return }
        while let event = events.first {
            if !hasStopped {
                for action in machine.handle(event, now: parts.clock.now) { perform(action) }
            }
            events.removeFirst()
        }
        setAlarm()
    }

    private func setAlarm() {
        if hasStopped { return }
        let now = parts.clock.now.monotonic
        guard let next = machine.nextDeadline else { return }
        alarm.set(for: next, now: now) { [weak self] in await self?.alarmRang() }
    }

    private func alarmRang() {
        alarm.rang()
        process(.tick)
    }

    /// Logs that `current.jpg` can't be updated. Everything else continues.
    func note(trouble: (any Error)?) {
        guard let trouble else { return }
        parts.logger.warning(
            "the profile picture can't be shown",
            metadata: [
                "path": "\(parts.avatars)/current.jpg", "reason": "\(trouble)",
                "remedy": "make the directory writable, or set `avatars`",
            ])
    }
}
