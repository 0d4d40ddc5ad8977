import Foundation
import Glibc
import PictureJobs
import TestSupport
import Testing

@testable import MediaTools

@Suite("The picture worker, as the agent sees it", .timeLimit(.minutes(2)))
struct PictureWorkerTests {
    private let directory: TemporaryDirectory
    private let log = RecordedLog()
    /// The number of messages that are at least warnings.
    private var warnings: Int {
        log.lines.count { line in ["warning ", "error ", "critical "].contains { line.hasPrefix($0) } }
    }

    init() throws { directory = try TemporaryDirectory() }

    /// A worker with time limits for a busy machine. A test may shorten the limit for measuring.
    private func worker(
        opening: String = "", settings: WorkerPool.Settings = WorkerPool.Settings(most: 1),
        measuringWithin limit: Duration = .seconds(100)
    ) throws -> PictureWorker {
        let program = try ScriptedWorker.make(in: directory, opening: opening)
        var settings = settings
        settings.startLimit = .seconds(100)
        return PictureWorker(
            program: program, settings: settings, timeLimit: { $0 == .measure ? limit : .seconds(100) },
            logger: log.logger)
    }

    private func measure(_ text: String, with worker: PictureWorker) async throws -> PictureFacts {
        let picture = try opened(try directory.file(UUID().uuidString, text))
        return try await worker.perform(.measure, on: picture, into: nil, maximumPixels: 1)
    }

    private var starts: Int { directory.text("starts").split(separator: "\n").count }
    private var jobs: [Substring] { directory.text("jobs").split(separator: "\n") }

    @Test func `a picture reaches it as an open file, and what it knows comes back`() async throws {
        #expect(try await measure("12345", with: worker()) == PictureFacts(width: 5, height: 1))
    }

    @Test func `what it draws is written to the file it is given`() async throws {
        let picture = try opened(try directory.file("picture", "write"))
        let output = try opened(directory.path("output"), flags: O_RDWR | O_CREAT)
        let facts = try await worker().perform(
            .thumbnail(side: 150, quality: 80), on: picture, into: output, maximumPixels: 1)
        #expect(facts == PictureFacts(width: 5, height: 2))
        #expect(directory.text("output") == "written")
    }

    @Test func `the picture can't be written to, even where it came open for writing`() async throws {
        let worker = try worker()
        let picture = try opened(try directory.file("picture", "scrawl"), flags: O_RDWR)
        let facts = try await worker.perform(.measure, on: picture, into: nil, maximumPixels: 1)
        #expect(facts == PictureFacts(width: 6, height: 65535))
        #expect(directory.text("picture") == "scrawl")
    }

    @Test func `one process does job after job`() async throws {
        let worker = try worker()
        for _ in 1...3 { _ = try await measure("picture", with: worker) }
        #expect(starts == 1)
    }

    @Test func `refusals and failures are told apart`() async throws {
        let worker = try worker()
        await #expect(throws: PictureFailure.refused(PictureRefusal(.damaged, "it is torn"))) {
            try await measure("refuse", with: worker)
        }
        await #expect(throws: PictureFailure.failed("no space")) { try await measure("fail", with: worker) }
    }

    @Test(arguments: ["die", "exit", "babble", "lie", "zero", "huge"])
    func `one that dies or talks nonsense costs that picture alone`(picture: String) async throws {
        let worker = try worker()
        let first = Task { try await measure("wait", with: worker) }
        try await Poll.until("the first job is on") { jobs == ["wait"] }
        let bad = Task { try await measure(picture, with: worker) }
        let good = Task { try await measure("good", with: worker) }
        _ = try directory.file("go", "")
        #expect(try await first.value.width == 4)
        await #expect {
            try await bad.value
        } throws: { error in
            if case .killedWorker = error as? PictureFailure { true } else { false }
        }
        #expect(try await good.value.width == 4)
        #expect(jobs.count { $0 == picture } == 1)
    }

    @Test func `how it died is told`() async throws {
        let worker = try worker()
        await #expect(
            throws: PictureFailure.killedWorker("\(directory.path("worker")) ended with exit code 1: that was too much")
        ) {
            try await measure("exit", with: worker)
        }
    }

    @Test func `one that hangs is killed, with its job, and replaced`() async throws {
        let worker = try worker(measuringWithin: .milliseconds(500))
        await #expect(throws: PictureFailure.killedWorker("it took too long and was killed")) {
            try await measure("hang", with: worker)
        }
        let pid = try #require(pid_t(directory.text("starts").split(separator: "\n")[0]))
        try await Poll.until("it is gone") { kill(pid, 0) != 0 }
        let picture = try opened(try directory.file("picture", "good"))
        let output = try opened(directory.path("output"), flags: O_RDWR | O_CREAT)
        let facts = try await worker.perform(
            .thumbnail(side: 150, quality: 80), on: picture, into: output, maximumPixels: 1)
        #expect(facts.width == 4)
        #expect(starts == 2)
    }

    @Test func `a program that is missing makes pictures unavailable, which is said once`() async throws {
        let worker = PictureWorker(
            program: "/nowhere/outbox-media", settings: WorkerPool.Settings(most: 1, firstPause: .seconds(300)),
            logger: log.logger)
        for _ in 1...3 {
            await #expect {
                try await measure("picture", with: worker)
            } throws: { error in
                guard case .unavailable(let reason) = error as? PictureFailure else { return false }
                return reason.contains("/nowhere/outbox-media") && reason.contains("No such file")
            }
        }
        #expect(warnings == 1)
    }

    @Test func `one without libvips is not tried again and again, and its reason is told`() async throws {
        let worker = try worker(
            opening: "sys.stderr.write('install libvips42\\n'); sys.exit(69)",
            settings: WorkerPool.Settings(most: 1, firstPause: .seconds(300)))
        for _ in 1...3 {
            await #expect {
                try await measure("picture", with: worker)
            } throws: { error in
                guard case .unavailable(let reason) = error as? PictureFailure else { return false }
                return reason.hasSuffix("install libvips42")
            }
        }
        #expect(starts == 1)
    }

    @Test func `after a pause it is tried again`() async throws {
        let worker = try worker(opening: "if not os.path.exists('\(directory.path("there"))'): sys.exit(69)")
        await #expect(throws: PictureFailure.self) { try await measure("picture", with: worker) }
        _ = try directory.file("there", "")
        try await Poll.until("it works") { (try? await measure("picture", with: worker)) != nil }
        #expect(warnings == 1)
    }

    @Test func `one that fills its standard error is not held up`() async throws {
        let worker = try worker(opening: "sys.stderr.write('much ado\\n' * 100000)")
        #expect(try await measure("good", with: worker).width == 4)
    }

    @Test func `a cancelled task gets its answer at once, and the worker goes on`() async throws {
        let worker = try worker()
        let task = Task { try await measure("wait", with: worker) }
        try await Poll.until("the job is on") { jobs == ["wait"] }
        task.cancel()
        await #expect(throws: PictureFailure.cancelled) { try await task.value }
        _ = try directory.file("go", "")
        #expect(try await measure("good", with: worker).width == 4)
        #expect(starts == 1)
    }

    @Test func `jobs run at once, one in each process`() async throws {
        let worker = try worker(settings: WorkerPool.Settings(most: 3))
        let tasks = (1...3).map { _ in Task { try await measure("wait", with: worker) } }
        try await Poll.until("three jobs are on") { jobs.count == 3 }
        _ = try directory.file("go", "")
        for task in tasks { _ = try await task.value }
        #expect(starts == 3)
    }

    @Test func `what waits in the background waits behind what somebody waits for`() async throws {
        let worker = try worker()
        let background = worker.background
        func task(_ text: String, with worker: any PictureWorking) throws -> Task<PictureFacts, any Error> {
            let picture = try opened(try directory.file(text, text))
            return Task { try await worker.perform(.measure, on: picture, into: nil, maximumPixels: 1) }
        }
        let first = try task("wait", with: background)
        try await Poll.until("the first job is on") { jobs == ["wait"] }
        let second = try task("later", with: background)
        try await Poll.until("the second one waits") { worker.waitingJobs == 2 }
        let third = try task("sooner", with: worker)
        try await Poll.until("the third one waits") { worker.waitingJobs == 3 }
        _ = try directory.file("go", "")
        for task in [first, second, third] { _ = try await task.value }
        #expect(jobs == ["wait", "sooner", "later"])
    }

    @Test func `a worker that is warmed up is there before the first job`() async throws {
        let worker = try worker()
        worker.warmUp()
        try await Poll.until("it is started") { starts == 1 }
        _ = try await measure("picture", with: worker)
        #expect(starts == 1)
    }

    @Test func `shutdown ends its processes and cancels its jobs`() async throws {
        let worker = try worker()
        let task = Task { try await measure("hang", with: worker) }
        try await Poll.until("the job is on") { jobs == ["hang"] }
        await worker.shutdown()
        await #expect(throws: PictureFailure.cancelled) { try await task.value }
        let pid = try #require(pid_t(directory.text("starts").split(separator: "\n")[0]))
        #expect(kill(pid, 0) != 0)
        await #expect(throws: PictureFailure.cancelled) { try await measure("picture", with: worker) }
    }

    @Test func `nothing is left of a worker that nobody holds any longer`() async throws {
        var worker: PictureWorker? = try worker()
        if let worker { _ = try await measure("picture", with: worker) }
        let pid = try #require(pid_t(directory.text("starts").split(separator: "\n")[0]))
        worker = nil
        try await Poll.until("it is gone") { kill(pid, 0) != 0 }
    }

    @Test func `the program is beside the running one, in libexec, or where the environment says`() {
        func find(
            _ environment: [String: String], having programs: Set<String>, files: Set<String> = [],
            beside running: String = "/opt/bin/outbox"
        ) -> String {
            PictureWorker.find(
                environment: environment, beside: running, isProgram: programs.contains, exists: files.contains)
        }
        let beside = "/opt/bin/outbox-media"
        let inLibexec = "/opt/libexec/outbox/outbox-media"
        #expect(find([:], having: [beside, inLibexec]) == beside)
        #expect(find([:], having: [inLibexec]) == inLibexec)
        #expect(find([:], having: []) == inLibexec, "where packages put it")
        #expect(find([:], having: [], files: [beside]) == beside, "not executable")
        #expect(find([:], having: [], files: [inLibexec]) == inLibexec, "not executable")
        #expect(find([:], having: [], beside: "/src/.build/debug/outbox") == "/src/.build/debug/outbox-media")
        #expect(find(["OUTBOX_MEDIA": "/my/media"], having: [beside]) == "/my/media")
    }
}
