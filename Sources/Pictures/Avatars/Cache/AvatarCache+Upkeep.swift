import Glibc
import LinuxSystem
import Logging
import PictureJobs
import SystemPackage
import UploadCore

extension AvatarCache {
    /// Keeps the pictures of `wanted.txt` mirrored, trims the mirror, and frees memory when it runs low, until the
    /// task is cancelled. Sleeps while there is nothing to do.
    public func run() async {
        logger.info("the avatar cache watches for low memory", metadata: ["by": "\(pressure.description)"])
        trim()
        await withDiscardingTaskGroup { group in
            group.addTask { await self.watchMemory() }
            group.addTask { await self.trimDaily() }
            if let path = options.wantedFile { group.addTask { await self.mirror(path) } }
        }
    }

    /// Handles a changed network: retries everything that failed for lack of network.
    public func networkChanged() {
        patience = [:]
        wanted?.yield(.networkChanged)
    }

    private func watchMemory() async {
        for await _ in pressure.warnings() {
            let bytes = memory.cost
            memory.removeAll()
            wanted?.yield(.lowMemory)
            if bytes > 0 {
                logger.info(
                    "memory is low, so the avatar cache releases its pictures in memory",
                    metadata: ["bytes": "\(bytes)"])
            }
        }
    }

    private func trimDaily() async {
        while (try? await clock.sleep(.seconds(86_400))) != nil { trim() }
    }

    // MARK: wanted.txt

    /// How long to pause prefetching after memory ran low.
    private static let shortageBreak = Duration.seconds(60)

    /// Maintains the pictures listed in a file.
    private func mirror(_ path: String) async {
        let (signals, mailbox) = AsyncStream.makeStream(of: WantedSignal.self)
        wanted = mailbox
        let styles = options.styles
        let lists = FileChanges(path: path).stream { Self.readWanted(path, styles) }
        let changes = Task { for await list in lists { mailbox.yield(.listRead(list)) } }
        var keeper = WantedKeeper(plan: WantedPlan(maximumRunning: options.maximumDownloads))
        for await signal in signals {
            let now = clock.now().monotonic
            switch signal {
            case .listRead(let list): keeper.stop(keeper.plan.replace(wishes(of: list, path, &keeper), now: now))
            case .ended(let wish, let number, let outcome): keeper.ended(wish, number, outcome, now: now)
            case .lowMemory:
                keeper.plan.hold(until: now + Self.shortageBreak)
                keeper.stopAll()
            case .forgotten(let addresses): keeper.plan.forget(addresses, now: now)
            case .networkChanged: keeper.plan.retryInterrupted(now: now)
            case .due: keeper.alarmRang()
            }
            for wish in keeper.plan.start(now: now) { look(after: wish, &keeper, mailbox) }
            keeper.setAlarm(now: now, clock, mailbox)
        }
        changes.cancel()
        keeper.end()
        wanted = nil
    }

    private func look(
        after wish: AvatarWish, _ keeper: inout WantedKeeper,
        _ mailbox: AsyncStream<WantedSignal>.Continuation
    ) {
        let number = keeper.nextNumber()
        let task = Task {
            let outcome = await self.bringUpToDate(wish)
            mailbox.yield(.ended(wish, number: number, outcome))
        }
        keeper.started(wish, number, task)
    }

    private func bringUpToDate(_ wish: AvatarWish) async -> WantedPlan.Outcome {
        let begun = clock.now().wall
        if let life = mirroredLife(of: wish) { return .fresh(life) }
        do {
            let picture = try await picture(wish, isUrgent: false)
            let life = life(
                of: picture.fetchedAt.milliseconds, until: picture.freshUntil.milliseconds, clock.now().wall)
            // Still stale: the server could not be asked, unless it requires a request each time and was asked.
            let isConfirmed = picture.fetchedAt.milliseconds >= begun.milliseconds
            return life > .zero || isConfirmed ? .fresh(life) : .interrupted
        } catch {
            switch error {
            case .listed(_, _, let until):
                return .failed(.milliseconds(until.milliseconds - clock.now().wall.milliseconds))
            case .notAllowed: return .failed(WantedPlan.longestPause)
            case .unreachable, .noWorker, .storage, .cancelled: return .interrupted
            }
        }
    }

    /// Remaining freshness of a mirrored picture in its style; nil if work is needed. Does not read the picture.
    private func mirroredLife(of wish: AvatarWish) -> Duration? {
        guard let found = try? find(wish), found.picture != nil else { return nil }
        let life = life(of: found.record.fetchedAt, until: found.record.freshUntil, clock.now().wall)
        return life > .zero ? life : nil
    }

    private static func readWanted(_ path: String, _ styles: [String: [PictureStep]]) -> Result<WantedList, Errno> {
        do throws(Errno) {
            return .success(WantedList(try text(of: path), styles: styles))
        } catch {
            // A missing file means that no picture is wanted.
            return error == .noSuchFileOrDirectory ? .success(WantedList()) : .failure(error)
        }
    }

    /// The wishes of the file. An unreadable line is reported once.
    private func wishes(
        of reading: Result<WantedList, Errno>, _ path: String, _ keeper: inout WantedKeeper
    ) -> [AvatarWish] {
        let list: WantedList
        switch reading {
        case .success(let read): list = read
        case .failure(let error):
            // An unreadable file keeps its previous wishes.
            logger.warning(
                "the list of wanted pictures can't be read", metadata: ["path": "\(path)", "error": "\(error)"])
            return keeper.wishes
        }
        for problem in list.problems where keeper.told.insert(problem).inserted {
            logger.warning(
                "a line of the list of wanted pictures is ignored",
                metadata: ["path": "\(path)", "line": "\(problem.line)", "error": "\(problem.message)"])
        }
        keeper.told.formIntersection(list.problems)
        keeper.wishes = list.wishes
        return list.wishes
    }

    private static func text(of path: String) throws(Errno) -> String {
        // A FIFO must not block the cache.
        let file = try SharedDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK)
        let status = try FileStatus(of: file.rawValue)
        guard status.kind == .regular, status.size <= UInt64(WantedList.maximumLength) else { throw .fileTooLarge }
        var bytes = [UInt8](repeating: 0, count: Int(status.size))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { buffer.deallocate() }
        let count = try file.read(into: buffer, at: 0)
        bytes = Array(buffer[..<count])
        return String(decoding: bytes, as: UTF8.self)
    }
}
