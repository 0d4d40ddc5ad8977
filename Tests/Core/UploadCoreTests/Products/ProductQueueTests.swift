import Testing

@testable import UploadCore

/// Which products are made, when, and what the path book learns.
@Suite struct ProductQueueTests {
    private var queue = ProductQueue(limits: .init(pictures: 2, videos: 1, storedBytes: 1000))
    private var now = MonotonicTime(nanoseconds: 0)
    private let recipe = Recipe(conversion: .jpeg(quality: 85, maximumSide: 0))
    private let strip = Recipe(removal: .positions)

    private static let jpeg = MediaType(kind: .image, mime: "image/jpeg")
    private static let video = MediaType(kind: .video, mime: "video/mp4")

    private func content(_ number: UInt64) -> DropContent {
        DropContent(key: ContentKey(high: 0, low: number), seal: ContentSeal(size: 100, digest: number))
    }

    private func identity(_ number: UInt64) -> FileIdentity {
        FileIdentity(device: 1, inode: number, size: 100, modified: 1, changed: 1, born: 1)
    }

    private func waiter(_ name: String, _ number: UInt64) throws -> ProductQueue.Waiter {
        ProductQueue.Waiter(
            path: try #require(RelativePath(name)), job: number, began: identity(number), identity: identity(number))
    }

    private func original(_ number: UInt64, _ type: MediaType = Self.jpeg) -> ProductQueue.Original {
        ProductQueue.Original(type: type, content: content(number), digests: [number])
    }

    private func made(_ size: UInt64 = 40) -> Product.Made {
        Product.Made(type: Self.jpeg, size: size, facts: MediaFacts(width: 4, height: 3))
    }

    /// Passes a hashed file to the queue.
    private mutating func hashed(
        _ name: String, _ number: UInt64, _ type: MediaType = Self.jpeg, _ recipe: Recipe? = nil,
        known: ProductRecord? = nil
    ) throws -> [ProductQueue.Action] {
        queue.handle(
            .hashed(try waiter(name, number), original(number, type), recipe ?? self.recipe, known: known), now: now)
    }

    private func jobs(_ actions: [ProductQueue.Action]) -> [ProductQueue.Job] {
        actions.compactMap { if case .make(let job) = $0 { job } else { nil } }
    }

    private func findings(_ actions: [ProductQueue.Action]) -> [String: HashFinding] {
        var findings: [String: HashFinding] = [:]
        for case .tell(let waiter, let finding) in actions { findings["\(waiter.path)"] = finding }
        return findings
    }

    @Test mutating func filesWithTheSameBytesShareOneProduct() throws {
        let job = try #require(jobs(try hashed("a.jpg", 1)).first)
        #expect(job.original == content(1))
        #expect(jobs(try hashed("b.jpg", 1)).isEmpty)
        let actions = queue.handle(.made(id: job.id, content(9), made(), digests: [9], error: nil), now: now)
        let product = Product(original: content(1), recipe: recipe.text, made: made())
        #expect(actions.contains(.store(ProductRecord(product: product, content: content(9)))))
        var uploaded = content(9)
        uploaded.product = product
        let finding = HashFinding.content(identity(1), Self.jpeg, uploaded, digests: [9])
        #expect(findings(actions) == ["a.jpg": finding, "b.jpg": finding])
        #expect(queue.isEmpty && queue.waiterCount == 0 && queue.isStored(content(9).key))
    }

    @Test mutating func picturesAndVideosHaveSlotsOfTheirOwn() throws {
        for number in UInt64(1)...3 { _ = try hashed("\(number).mp4", number, Self.video) }
        let pictures = try (UInt64(4)...6).flatMap { jobs(try hashed("\($0).jpg", $0)) }
        #expect(pictures.map(\.original.key.low) == [4, 5])
        let next = queue.handle(.changed(id: 1), now: now)
        #expect(jobs(next).map(\.original.key.low) == [2])
        #expect(findings(next) == ["1.mp4": .changed])
    }

    @Test mutating func aFailedConversionUploadsTheOriginalAndSaysWhy() throws {
        let id = try #require(jobs(try hashed("a.jpg", 1)).first).id
        let actions = queue.handle(.made(id: id, nil, nil, digests: [], error: "damaged"), now: now)
        var uploaded = content(1)
        uploaded.product = Product(original: content(1), recipe: recipe.text, made: nil, error: "damaged")
        #expect(findings(actions) == ["a.jpg": .content(identity(1), Self.jpeg, uploaded, digests: [1])])
        // Tomorrow the program may be there.
        #expect(!actions.contains { if case .store = $0 { true } else { false } })
    }

    @Test mutating func aFileWhosePositionsStayIsNotUploaded() throws {
        let id = try #require(jobs(try hashed("a.jpg", 1, Self.jpeg, strip)).first).id
        let actions = queue.handle(.refused(id: id, .notRemoved(.positions, "no exiftool")), now: now)
        guard case .failed(_, _, let product, let error)? = findings(actions)["a.jpg"] else {
            Issue.record("the file did not fail: \(actions)")
            return
        }
        #expect(error.code == "location_not_removed" && product.original == content(1).key)
    }

    @Test(arguments: [false, true]) mutating func failuresThatAreNotTheFilesFaultAreRetriedThenEnd(
        strips: Bool
    ) throws {
        let recipe = strips ? strip : recipe
        var job = try #require(jobs(try hashed("a.jpg", 1, Self.jpeg, recipe)).first)
        for attempt in 1..<ProductQueue.attempts {
            let actions = queue.handle(.failed(id: job.id, .other("out of memory")), now: now)
            #expect(findings(actions).isEmpty && jobs(actions).isEmpty)
            let due = try #require(queue.nextDeadline)
            #expect(due == now + ProductQueue.pauses[attempt - 1])
            now = due
            job = try #require(jobs(queue.handle(.tick, now: now)).first)
        }
        let actions = queue.handle(.failed(id: job.id, .other("out of memory")), now: now)
        switch try #require(findings(actions)["a.jpg"]) {
        case .content(_, _, let uploaded, _):
            #expect(!strips && uploaded.key == content(1).key && uploaded.product?.error == "out of memory")
        case .failed(_, _, _, let error): #expect(strips && error.message.contains("out of memory"))
        default: Issue.record("unexpected: \(actions)")
        }
    }

    @Test mutating func aFileWhoseMetadataStayIsNotUploaded() throws {
        let recipe = Recipe(removal: .metadata(keepsDates: false))
        let id = try #require(jobs(try hashed("a.jpg", 1, Self.jpeg, recipe)).first).id
        _ = queue.handle(.failed(id: id, .timeout("slow")), now: now)
        now = try #require(queue.nextDeadline)
        _ = queue.handle(.tick, now: now)
        guard
            case .failed(_, _, _, let error)? =
                findings(queue.handle(.failed(id: id, .timeout("slow")), now: now))["a.jpg"]
        else {
            Issue.record("the file did not fail")
            return
        }
        #expect(error.code == "metadata_not_removed")
    }

    @Test mutating func aFileThatTakesTooLongWaitsForAllOthersAndIsRefusedTheSecondTime() throws {
        queue = ProductQueue(limits: .init(pictures: 1, videos: 1, storedBytes: 1000))
        let slow = try #require(jobs(try hashed("slow.png", 1, Self.jpeg, strip)).first)
        #expect(!slow.isSlow)
        _ = try hashed("a.jpg", 2, Self.jpeg, strip)
        var next = queue.handle(.failed(id: slow.id, .timeout("took over 8 s")), now: now)
        now = try #require(queue.nextDeadline)
        // It is due again, and another one comes.
        _ = queue.handle(.tick, now: now)
        _ = try hashed("b.jpg", 3, Self.jpeg, strip)
        for key in [2, 3] as [UInt64] {
            let job = try #require(jobs(next).first)
            #expect(job.original.key.low == key)
            next = queue.handle(.made(id: job.id, nil, nil, digests: [], error: nil), now: now)
        }
        let again = try #require(jobs(next).first)
        #expect(again.id == slow.id && again.isSlow)
        let last = queue.handle(.failed(id: slow.id, .timeout("took over 20 s")), now: now)
        guard case .failed(_, _, _, let error)? = findings(last)["slow.png"] else {
            Issue.record("the file was not refused: \(last)")
            return
        }
        #expect(error.code == "location_not_removed" && error.message.contains("took over 20 s"))
    }

    @Test mutating func aFullDiskIsWaitedForAndReported() throws {
        let job = try #require(jobs(try hashed("a.jpg", 1)).first)
        var problems: [ProductQueue.Action] = []
        var told: [ProcessingProgress] = []
        for _ in 0..<20 {
            problems += queue.handle(.failed(id: job.id, .diskFull("the disk is full")), now: now)
            now = now + ProductQueue.fullDiskPause
            let retry = queue.handle(.tick, now: now)
            #expect(jobs(retry).count == 1 && findings(retry).isEmpty)
            for case .tellProgress(_, let progress) in problems + retry { told.append(progress) }
            problems.removeAll { if case .tellProgress = $0 { true } else { false } }
        }
        // Reported once, until the product is made.
        guard problems.count == 1, case .problem(let message?) = problems[0] else {
            Issue.record("\(problems)")
            return
        }
        #expect(message.contains("disk is full"))
        #expect(told.contains { $0.obstacle?.code == "disk_full" } && told.last == ProcessingProgress())
        let end = queue.handle(.made(id: job.id, content(9), made(), digests: [], error: nil), now: now)
        #expect(end.contains(.problem(nil)))
    }

    @Test mutating func aProductIsNotRemovedUnderAJobThatMayUseIt() throws {
        let key = content(9).key
        let product = Product(original: content(1), recipe: recipe.text, made: made())
        let known = ProductRecord(product: product, content: content(9))
        _ = queue.handle(.found([key: 40]), now: now)
        #expect(queue.isRemovable(key))
        let job = try #require(jobs(try hashed("a.jpg", 1, known: known)).first)
        #expect(queue.isStored(key) && !queue.isRemovable(key))
        // Whether the job ends with or without the product, the removal is asked for again.
        let end = queue.handle(.changed(id: job.id), now: now)
        #expect(end.contains(.release(key)) && queue.isRemovable(key))
    }

    @Test mutating func nothingBeginsWhileTheStoredProductsAreTooLarge() throws {
        _ = queue.handle(.found([ContentKey(high: 1, low: 1): 999]), now: now)
        let first = try #require(jobs(try hashed("a.jpg", 1)).first)
        _ = queue.handle(.made(id: first.id, content(9), made(), digests: [], error: nil), now: now)
        let waiting = try hashed("b.jpg", 2)
        #expect(jobs(waiting).isEmpty)
        #expect(
            waiting.contains { if case .problem(let text?) = $0 { text.contains("products_max_size") } else { false } })
        #expect(jobs(queue.handle(.released(ContentKey(high: 1, low: 1)), now: now)).count == 1)
    }

    @Test mutating func workThatNobodyWaitsForStopsAndOtherNamesLookAgain() throws {
        let job = try #require(jobs(try hashed("a.jpg", 1)).first)
        _ = try hashed("b.jpg", 1)
        let path = try waiter("a.jpg", 1).path
        let first = queue.release([path], mayReturn: false, now: now) { path, _ in "\(path)" != "a.jpg" }
        #expect(findings(first) == ["a.jpg": .changed])
        #expect(!first.contains(.stop(id: job.id)))
        #expect(findings(queue.release(nil, mayReturn: true, now: now) { _, _ in false }) == ["b.jpg": .changed])
        #expect(queue.waiterCount == 0)
        // A renamed file comes back under its new name.
        let again = try hashed("c.jpg", 1)
        #expect(jobs(again).isEmpty && queue.nextDeadline == nil)
        _ = queue.release(nil, mayReturn: true, now: now) { _, _ in false }
        now = try #require(queue.nextDeadline)
        #expect(queue.handle(.tick, now: now).contains(.stop(id: job.id)) && queue.isEmpty)
        // The result of stopped work comes too late. Its file goes.
        let late = queue.handle(.made(id: job.id, content(9), made(), digests: [], error: nil), now: now)
        #expect(late == [.release(content(9).key)])
    }

    @Test mutating func cancelledWorkStopsAtOnceAndTheNextBegins() throws {
        let job = try #require(jobs(try hashed("a.mp4", 1, Self.video)).first)
        _ = try hashed("b.mp4", 2, Self.video)
        let actions = queue.release([job.path], mayReturn: false, now: now) { _, _ in false }
        #expect(actions.contains(.stop(id: job.id)))
        #expect(jobs(actions).map(\.original.key.low) == [2])
    }

    @Test mutating func aRetryThatHasNoSlotWaitsWithoutAnAlarm() throws {
        let first = try #require(jobs(try hashed("a.mp4", 1, Self.video)).first)
        _ = try hashed("b.mp4", 2, Self.video)
        // The second video takes the slot of the first.
        _ = queue.handle(.failed(id: first.id, .other("x")), now: now)
        now = try #require(queue.nextDeadline)
        _ = queue.handle(.tick, now: now)
        #expect(queue.nextDeadline == nil)
        #expect(jobs(queue.handle(.changed(id: first.id + 1), now: now)).map(\.id) == [first.id])
    }

    @Test mutating func aContentThatNeedsNoProductIsNotProcessedAgain() throws {
        let product = Product(original: content(1), recipe: recipe.text, made: nil)
        let actions = try hashed("a.jpg", 1, known: ProductRecord(product: product, content: nil))
        var uploaded = content(1)
        uploaded.product = product
        #expect(findings(actions) == ["a.jpg": .content(identity(1), Self.jpeg, uploaded, digests: [1])])
        #expect(jobs(actions).isEmpty)
    }

    /// Random events; each waiter gets one answer, slots are never exceeded, and no work is forgotten.
    @Test(arguments: 1...20) mutating func aRandomLifeAnswersEveryWaiterOnce(seed: UInt64) throws {
        var random = WalkRandom(seed: seed)
        var waiting: [UInt64: String] = [:]
        var running: [UInt64: ProductQueue.Job] = [:]
        var lastJob: UInt64 = 0
        func perform(_ actions: [ProductQueue.Action]) {
            for action in actions {
                switch action {
                case .make(let job):
                    #expect(running.updateValue(job, forKey: job.id) == nil)
                    #expect(running.values.count { $0.type.kind == .image } <= 2)
                    #expect(running.values.count { $0.type.kind == .video } <= 1)
                case .stop(let id): #expect(running.removeValue(forKey: id) != nil)
                case .tell(let waiter, _): #expect(waiting.removeValue(forKey: waiter.job) == "\(waiter.path)")
                case .store, .tellProgress, .release, .problem: break
                }
            }
        }
        for _ in 0..<400 {
            now = now + .seconds(Int(random.next() % 20))
            switch random.next() % 8 {
            case 0...2:
                lastJob += 1
                let number = random.next() % 12
                let isVideo = number % 3 == 0
                waiting[lastJob] = "\(lastJob)"
                let waiter = ProductQueue.Waiter(
                    path: try #require(RelativePath("\(lastJob)")), job: lastJob, began: identity(number),
                    identity: identity(number))
                perform(
                    queue.handle(
                        .hashed(waiter, original(number, isVideo ? Self.video : Self.jpeg), recipe, known: nil),
                        now: now))
            case 3, 4:
                guard let id = running.keys.min() else { continue }
                running[id] = nil
                perform(queue.handle(.made(id: id, content(50 + id), made(1), digests: [], error: nil), now: now))
                perform(queue.handle(.released(content(50 + id).key), now: now))
            case 5:
                guard let id = running.keys.max() else { continue }
                running[id] = nil
                perform(queue.handle(.failed(id: id, random.next() % 2 == 0 ? .diskFull("x") : .other("x")), now: now))
            case 6:
                guard let job = waiting.keys.randomElement(using: &random) else { continue }
                perform(queue.release(nil, mayReturn: random.next() % 2 == 0, now: now) { $1 != job })
            default: perform(queue.handle(.tick, now: now))
            }
            #expect(queue.waiterCount == waiting.count)
        }
        while let deadline = running.isEmpty ? queue.nextDeadline : now {
            now = max(now, deadline)
            perform(queue.handle(.tick, now: now))
            for id in running.keys.sorted() {
                running[id] = nil
                perform(queue.handle(.changed(id: id), now: now))
            }
        }
        #expect(waiting.isEmpty && queue.isEmpty)
    }
}
