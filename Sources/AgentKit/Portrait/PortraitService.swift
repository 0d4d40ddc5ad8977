import LinuxSystem
import Logging
import MediaTools
import Remotes
import UploadCore

/// Who wants to hear of the profile picture.
struct PortraitOutlets: Sendable {
    /// Told each time something about a dropped file changed; in order.
    var report: @Sendable (PortraitReport) -> Void = { _ in }
    /// Told of a file that is not the one that was hashed: it is to be looked at again.
    var reconsider: @Sendable (RelativePath) -> Void = { _ in }
    /// Told when the server refuses the session.
    var sessionRefused: @Sendable (FileError) -> Void = { _ in }
    /// Told what happens to the profile picture, with what `GET /v1/profile` answers at that moment; in order.
    var announce: @Sendable (_ event: PortraitEvent, _ profile: [UInt8]) -> Void = { _, _ in }
}

/// Where confirmed portraits are kept.
struct PortraitCache: Sendable {
    /// Takes a picture over under a URL and pins it; answers the absolute path of the file, nil where it has none.
    var adopt: @Sendable (_ picture: SharedDescriptor, _ url: String) async throws -> String?
    /// Pins what is kept under a URL; answers the absolute path of the file now, nil where it is not kept.
    var pin: @Sendable (_ url: String) async -> String?
}

/// The profile picture: takes pictures from the portrait folder, shows them at once and sends the newest to the server.
///
/// `PortraitMachine` decides, `PortraitFiles` keeps; this carries out, in the order *disk first, action second*. It runs
/// on a thread of its own, since it waits for the disk.
actor PortraitService {
    /// What it is made of.
    struct Parts: Sendable {
        /// Absolute path of the state directory.
        var state: String
        /// Absolute path of the mirror of pictures.
        var avatars: String
        /// The outbox.
        var files: OutboxFiles
        /// Draws the pictures.
        var pictures: any PictureWorking
        /// Takes them; nil where the protocol knows no profile pictures.
        var remote: (any PortraitRemote)?
        /// Keeps those that were taken.
        var cache: PortraitCache
        /// The account that is signed in; nil where there is no token.
        var account: @Sendable () -> String?
        /// Quality of the JPEG, 1…100.
        var quality: Int
        /// Pictures with more pixels are refused.
        var maximumPixels: Int
        /// `upload.retry_interval`.
        var retryInterval: Duration
        var clock: any Clocks
        var logger: Logger
    }

    private let thread = SerialThread(name: "portrait")
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    let parts: Parts
    var files: PortraitFiles
    var machine: PortraitMachine
    var outlets = PortraitOutlets()
    var requests: [PortraitMachine.RequestID: Task<Void, Never>] = [:]
    var preparation: Task<Void, Never>?
    var hasStopped = false
    private let seed: UInt64
    private var events: [PortraitMachine.Event] = []
    private var alarm = Alarm()

    /// A service that does nothing before `start`.
    init(_ parts: Parts, disk: PortraitDisk = PortraitDisk(), seed: UInt64 = .random(in: .min ... .max)) {
        self.parts = parts
        self.seed = seed
        files = PortraitFiles(state: parts.state, avatars: parts.avatars, disk: disk)
        machine = PortraitMachine(restoring: nil, lastID: 0, retryInterval: parts.retryInterval, seed: seed)
    }

    // MARK: What the uploader tells; in order, and none of it waits

    /// Brings back what was kept and goes on with it. To be called once, before anything else.
    ///
    /// - Parameters:
    ///   - outlets: who wants to hear of it.
    ///   - isAllPaused: whether the user holds everything back; then nothing is sent.
    nonisolated func start(_ outlets: PortraitOutlets, isAllPaused: Bool) {
        run { $0.begin(outlets, isAllPaused) }
    }

    /// A file of the portrait folder was hashed, and is another drop than the one that was known under its path.
    nonisolated func dropped(_ drop: PortraitDrop, _ order: DropOrder) {
        run { $0.take(drop, order) }
    }

    /// A file was removed from the portrait folder, or moved out of it; whatever it was, a report tells its end.
    nonisolated func removed(_ path: RelativePath, _ key: ContentKey) {
        takeBack(path, key, "removed", "the file was removed before it was the profile picture on the server")
    }

    /// The user cancelled a file; whatever it was, a report tells its end.
    nonisolated func cancelled(_ path: RelativePath, _ key: ContentKey) {
        takeBack(path, key, "cancelled", "cancelled by the user")
    }

    private nonisolated func takeBack(_ path: RelativePath, _ key: ContentKey, _ code: String, _ message: String) {
        run { $0.process(.takenBack(path, key, FileError(code: code, message: message, retryable: false))) }
    }

    /// A file within the portrait folder has another name.
    nonisolated func renamed(_ old: RelativePath, to new: RelativePath) {
        run { $0.process(.renamed(old, new)) }
    }

    /// The user holds a file back, or lets it go on.
    nonisolated func setPaused(_ isPaused: Bool, _ path: RelativePath) {
        run { $0.process(.paused(path, isPaused)) }
    }

    /// The user holds everything back, or lets it go on.
    nonisolated func setAllPaused(_ isPaused: Bool) {
        run { $0.process(.allPaused(isPaused)) }
    }

    /// The user does not want to wait for the next attempt.
    nonisolated func retry(_ path: RelativePath) {
        run { $0.process(.retried(path)) }
    }

    /// There may be new credentials, of the same account or of the first that signs in.
    nonisolated func credentialsChanged() {
        run { $0.process(.credentialsChanged(account: $0.parts.account())) }
    }

    /// The server refused the session, as another request was told.
    nonisolated func sessionRefused(_ error: FileError) {
        run { $0.process(.sessionRefused(error)) }
    }

    /// The server takes requests of the session, as another one was told.
    nonisolated func sessionWorks() {
        run { $0.process(.sessionWorks) }
    }

    /// The user signed out.
    nonisolated func signedOut() {
        run { service in
            service.process(.signedOut)
            // Another token than the one `login` kept may be left.
            if let account = service.parts.account() { service.process(.credentialsChanged(account: account)) }
        }
    }

    /// A network is there that was not before.
    nonisolated func networkChanged() {
        run { $0.process(.networkChanged) }
    }

    /// Takes over another `upload.retry_interval`.
    nonisolated func setRetryInterval(_ interval: Duration) {
        run { $0.machine.setRetryInterval(interval) }
    }

    /// What there is to say of the profile picture now.
    func profile() -> ProfileView {
        ProfileView(confirmed: files.kept.profile, pending: machine.pending, current: files.current)
    }

    /// Gives up what is under way; nothing is lost by it, and nothing is sent afterwards.
    func stop() async {
        hasStopped = true
        alarm.cancel()
        preparation?.cancel()
        for request in requests.values { request.cancel() }
        for request in requests.values { await request.value }
    }

    // MARK: Life

    /// Runs work on the service's thread, behind what waits there already.
    nonisolated func run(_ work: @escaping @Sendable (isolated PortraitService) -> Void) {
        thread.run { self.assumeIsolated { work($0) } }
    }

    private func begin(_ outlets: PortraitOutlets, _ isAllPaused: Bool) {
        self.outlets = outlets
        do {
            note(trouble: try files.open())
        } catch {
            parts.logger.error(
                "the profile picture can't be read; the newest one in the portrait folder is taken anew",
                metadata: ["path": "\(parts.state)/portrait", "reason": "\(error)"])
        }
        machine = PortraitMachine(
            restoring: files.kept.record, lastID: files.kept.lastID, retryInterval: parts.retryInterval, seed: seed)
        if let profile = files.kept.profile { pin(profile) }
        process(.started(account: parts.account(), isAllPaused: isAllPaused))
    }

    /// Has the avatar cache spare what was confirmed, and shows it from there.
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

    static let noPortraits = FileError(
        code: "no_portrait", message: "this server's protocol has no profile pictures; fileSection has",
        retryable: false)

    private func take(_ drop: PortraitDrop, _ order: DropOrder) {
        var report = PortraitReport(path: drop.path, key: drop.key, state: .failed, finishedAt: parts.clock.now.wall)
        if parts.remote == nil {
            report.error = Self.noPortraits
        } else if drop.type.kind != .image {
            report.state = .rejected
            report.error = FileError(
                code: "unsupported_type", message: "a profile picture must be a picture", retryable: false)
        } else {
            return process(.dropped(drop, order))
        }
        outlets.report(report)
    }

    /// Lets the machine take an event in, and carries out what it decides.
    ///
    /// What that leads to at once is taken in when all of it is done.
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

    /// Says that `current.jpg` can't be put right; everything else goes on.
    func note(trouble: (any Error)?) {
        guard let trouble else { return }
        parts.logger.warning(
            "the profile picture can't be shown",
            metadata: [
                "path": "\(parts.avatars)/current.jpg", "reason": "\(trouble)",
                "remedy": "see that the directory can be written to, or set `avatars`",
            ])
    }
}
