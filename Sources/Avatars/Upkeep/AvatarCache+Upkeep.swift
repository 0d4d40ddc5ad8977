import Glibc
import LinuxSystem
import Logging
import PictureJobs
import SystemPackage
import UploadCore

extension AvatarCache {
    /// Keeps `wanted.txt` mirrored, removes what is too old or too much, and gives memory back when it runs short, until
    /// the task is cancelled. It sleeps until there is something to do.
    public func run() async {
        logger.info("the avatar cache watches for low memory", metadata: ["by": "\(pressure.description)"])
        trim()
        await withDiscardingTaskGroup { group in
            group.addTask { await self.watchMemory() }
            group.addTask { await self.trimDaily() }
            if let path = options.wantedFile { group.addTask { await self.mirror(path) } }
        }
    }

    /// The network is another one than before: what it stood in the way of is tried again at once.
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
                logger.info("memory is short: pictures in memory are let go", metadata: ["bytes": "\(bytes)"])
            }
        }
    }

    private func trimDaily() async {
        while (try? await clock.sleep(.seconds(86_400))) != nil { trim() }
    }

    // MARK: wanted.txt

    /// What concerns the wanted pictures.
    enum WantedSignal: Sendable {
        case fileChanged
        case due
        case ended(AvatarDesk.Wish, number: UInt64, WantedPlan.Outcome)
        case lowMemory
        case networkChanged
    }

    /// Looks after the pictures that a file wants.
    private func mirror(_ path: String) async {
        let (signals, mailbox) = AsyncStream.makeStream(of: WantedSignal.self)
        wanted = mailbox
        let changes = Task { for await _ in FileChanges(path: path).stream() { mailbox.yield(.fileChanged) } }
        var keeper = WantedKeeper(plan: WantedPlan(maximumRunning: options.maximumDownloads))
        for await signal in signals {
            let now = clock.now().monotonic
            switch signal {
            case .fileChanged: keeper.stop(keeper.plan.replace(readWanted(path, &keeper), now: now))
            case .ended(let wish, let number, let outcome): keeper.ended(wish, number, outcome, now: now)
            case .lowMemory: keeper.stopAll()
            case .networkChanged: keeper.plan.retryInterrupted(now: now)
            case .due: break
            }
            for wish in keeper.plan.start(now: now) { look(after: wish, &keeper, mailbox) }
            keeper.setAlarm(now: now, clock, mailbox)
        }
        changes.cancel()
        keeper.end()
        wanted = nil
    }

    private func look(
        after wish: AvatarDesk.Wish, _ keeper: inout WantedKeeper,
        _ mailbox: AsyncStream<WantedSignal>.Continuation
    ) {
        let number = keeper.nextNumber()
        let task = Task {
            let outcome = await self.bringUpToDate(wish)
            mailbox.yield(.ended(wish, number: number, outcome))
        }
        keeper.started(wish, number, task)
    }

    private func bringUpToDate(_ wish: AvatarDesk.Wish) async -> WantedPlan.Outcome {
        if let life = mirroredLife(of: wish) { return .fresh(life) }
        do {
            let picture = try await picture(wish, isUrgent: false)
            let life = picture.freshUntil.milliseconds - clock.now().wall.milliseconds
            // Stale all the same: its server could not be asked, or wants to be asked each time.
            return life > 0 ? .fresh(.milliseconds(life)) : .interrupted
        } catch {
            switch error {
            case .listed(_, _, let until):
                return .failed(.milliseconds(until.milliseconds - clock.now().wall.milliseconds))
            case .notAllowed: return .failed(WantedPlan.longestPause)
            case .unreachable, .noWorker, .storage, .cancelled: return .interrupted
            }
        }
    }

    /// How long a picture that is in the mirror, style and all, stays fresh; nil where there is something to do. Nothing
    /// is read for it.
    private func mirroredLife(of wish: AvatarDesk.Wish) -> Duration? {
        guard let record = (try? store.original(of: wish.address))?.record else { return nil }
        let life = record.freshUntil.subtractingReportingOverflow(clock.now().wall.milliseconds).0
        guard life > 0, wish.style.isOriginal || (try? store.styled(wish.address, wish.style)) != nil else {
            return nil
        }
        return .milliseconds(life)
    }

    /// What the file wants now; a line that can't be read is told once.
    private func readWanted(_ path: String, _ keeper: inout WantedKeeper) -> [AvatarDesk.Wish] {
        let list: WantedList
        do {
            list = WantedList(try Self.text(of: path), styles: options.styles)
        } catch {
            // Without a file, nothing is wanted; one that can't be read for now wants what it wanted before.
            if error == .noSuchFileOrDirectory { return [] }
            logger.warning(
                "the list of wanted pictures can't be read", metadata: ["path": "\(path)", "error": "\(error)"])
            return keeper.wishes
        }
        for problem in list.problems where keeper.told.insert(problem).inserted {
            logger.warning(
                "A line of the list of wanted pictures is left out.",
                metadata: ["path": "\(path)", "line": "\(problem.line)", "error": "\(problem.message)"])
        }
        keeper.told.formIntersection(list.problems)
        keeper.wishes = list.wishes
        return list.wishes
    }

    private static func text(of path: String) throws(Errno) -> String {
        // A FIFO must not hold up the cache.
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
