import PictureJobs
import Synchronization
import TestSupport
import Testing

@testable import Avatars

@Suite(.timeLimit(.minutes(2)))
struct CoalescingTests {
    enum Storage: CaseIterable {
        case memory, disk
    }

    @Test(arguments: Storage.allCases)
    func `a thousand who ask for one URL in five styles cost one GET and five drawings`(
        storage: Storage
    ) async throws {
        let directory = try TemporaryDirectory()
        let store: any AvatarStore =
            storage == .memory ? MemoryAvatarStore() : try DiskAvatarStore(directory: directory.path)
        let gate = Gate()
        let server = try ScriptedServer { _ in
            gate.wait()
            return .response(status: 200, body: png())
        }
        let bench = try Bench(server, store: store)
        let address = try bench.address("/a.png")
        let styles = (1...5).map { PictureStyle.rect($0 * 10) }
        let tasks = (0..<1000).map { number in
            Task { try await bench.cache.picture(address, styles[number % 5]) }
        }
        try await Poll.until("all wait") { await bench.cache.waiters.count == 1000 }
        gate.open()
        var answers: [Int: Set<[UInt8]>] = [:]
        for (number, task) in tasks.enumerated() { answers[number % 5, default: []].insert(try await task.value.bytes) }
        #expect(server.startedRequests == 1)
        #expect(bench.pictures.drawn.sorted() == styles.map(\.name).sorted())
        #expect(try await bench.cache.entries().map(\.styles) == [styles.map(\.name).sorted()])
        #expect(answers.count == 5)
        #expect(answers.values.allSatisfy { $0.count == 1 })
        #expect(Set(answers.values.compactMap(\.first)).count == 5)
        #expect(await bench.cache.desk.isIdle)
    }

    @Test func `one who gives up leaves the others theirs`() async throws {
        let gate = Gate()
        let server = try ScriptedServer { _ in
            gate.wait()
            return .response(status: 200, body: png())
        }
        let bench = try Bench(server)
        let address = try bench.address("/a.png")
        let impatient = Task { try await bench.cache.picture(address, .original) }
        let patient = Task { try await bench.cache.picture(address, .rect(10)) }
        try await Poll.until("both wait") { await bench.cache.waiters.count == 2 }
        impatient.cancel()
        await #expect(throws: AvatarFailure.cancelled) { try await impatient.value }
        gate.open()
        #expect(try await patient.value.type == "image/png")
        #expect(server.startedRequests == 1)
    }

    @Test func `when all gave up the download stops, and the URL is not to blame`() async throws {
        let hangs = Atomic(true)
        let server = try ScriptedServer { _ in
            hangs.load(ordering: .acquiring) ? .hang : .response(status: 200, body: png())
        }
        let bench = try Bench(server)
        let address = try bench.address("/a.png")
        let tasks = (0..<3).map { _ in Task { try await bench.cache.picture(address, .original) } }
        try await Poll.until("the request has come") { server.requests.count == 1 }
        try await Poll.until("all wait") { await bench.cache.waiters.count == 3 }
        for task in tasks { task.cancel() }
        try await Poll.until("the connection is cut") { server.openConnections == 0 }
        #expect(await bench.cache.failures().isEmpty)
        #expect(bench.events().isEmpty)
        hangs.store(false, ordering: .releasing)
        #expect(try await bench.picture("/a.png").bytes == png())
    }

    @Test func `a task that is cancelled already asks nobody`() async throws {
        let bench = try Bench(try .serving())
        let address = try bench.address("/a.png")
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await bench.cache.picture(address, .original)
        }
        await #expect(throws: AvatarFailure.cancelled) { try await task.value }
        #expect(bench.server.startedRequests == 0)
        #expect(await bench.cache.waiters.isEmpty)
    }

    @Test func `no more downloads than allowed run at once`() async throws {
        let running = Mutex((now: 0, most: 0))
        let gate = Gate()
        let server = try ScriptedServer { _ in
            running.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            gate.wait()
            running.withLock { $0.now -= 1 }
            return .response(status: 200, body: png())
        }
        let bench = try Bench(server, options: AvatarOptions(maximumDownloads: 2))
        let tasks = try (0..<6).map { number in
            let address = try bench.address("/\(number).png")
            return Task { try await bench.cache.picture(address, .original) }
        }
        try await Poll.until("two have come") { server.requests.count == 2 }
        try await Poll.until("all wait") { await bench.cache.waiters.count == 6 }
        gate.open()
        for task in tasks { _ = try await task.value }
        #expect(running.withLock { $0.most } == 2)
    }

    @Test func `what is in memory or in the store is not asked for again`() async throws {
        let bench = try Bench(try .serving())
        for _ in 0..<3 {
            #expect(try await bench.picture("/a.png").bytes == png())
            _ = try await bench.picture("/a.png", .rect(10))
        }
        await bench.cache.forgetMemory()
        _ = try await bench.picture("/a.png", .rect(10))
        #expect(bench.server.startedRequests == 1)
        #expect(bench.pictures.drawn == ["rect:10x10"])
    }
}

extension AvatarCache {
    func forgetMemory() { memory.removeAll() }
}
