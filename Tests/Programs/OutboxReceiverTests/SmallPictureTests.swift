import Foundation
import LinuxSystem
import Logging
import MediaTools
import PictureJobs
import Synchronization
import TestSupport
import Testing

@testable import OutboxReceiver

@Suite struct SmallPictureTests {
    /// A store with pictures of two users, and a worker that answers as the test wants.
    private struct Stage {
        let root: URL
        let store: Store
        let worker: GatedPictures
        let pictures: SmallPictures

        init(_ worker: GatedPictures) throws {
            root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
            store = try Store(
                path: root.path,
                limits: Store.Limits(freeSpaceFloor: 0, maximumFileSize: 1 << 30, maximumOpenUploads: 100),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { 1000 })
            self.worker = worker
            pictures = try SmallPictures(store, worker: worker)
        }

        func remove() { try? FileManager.default.removeItem(at: root) }

        /// Expects a small version of a picture.
        func draw(_ content: Content) async throws {
            let small = try await pictures.picture(of: content, for: .tile)
            #expect(small != nil)
        }

        /// Stores a picture.
        func picture(_ number: UInt8, of user: String) async throws -> Content {
            let bytes = [UInt8](repeating: number, count: 100)
            let plan = UploadPlan(
                user: user, size: 100, md5: try #require(Hex128(TestServer.md5(Data(bytes)))), fileName: "a.jpg",
                path: nil, type: "image/jpeg", modified: 5)
            let id = try #require(try await store.preLoad([plan], user: user).first).id
            let upload = try #require(store.open.first { $0.id == id })
            var fragment = try #require(try Fragment.begin(0, of: upload, in: store))
            try bytes.withUnsafeBytes { try fragment.append($0) }
            try fragment.complete(in: store)
            store.advance(upload)
            await store.waitForFinishing([id], of: user)
            guard case .finished(let content) = store.answer(for: id, user: user) else { throw CancellationError() }
            return content
        }
    }

    @Test func theCostlyPicturesOfOneUserDoNotHoldUpThoseOfAnother() async throws {
        let stage = try Stage(GatedPictures())
        defer { stage.remove() }
        var costly: [Content] = []
        for number in 0..<10 { costly.append(try await stage.picture(UInt8(number), of: "mallory")) }
        let own = try await stage.picture(99, of: "anna")
        try await withThrowingTaskGroup { group in
            for content in costly { group.addTask { try await stage.draw(content) } }
            try await Poll.until("the first picture to be drawn") { stage.worker.atWork > 0 }
            // Two at a time are drawn, and mallory's other pictures wait for their turn.
            group.addTask { try await stage.draw(own) }
            try await Poll.until("anna's picture to be drawn beside") { stage.worker.atWork == 2 }
            stage.worker.open()
            try await group.waitForAll()
        }
        #expect(stage.worker.jobs == 11)
        #expect(stage.worker.most == 2)
    }

    @Test func hugePicturesOfSeveralUsersLeaveAWorkerToOthers() async throws {
        let stage = try Stage(GatedPictures(isHuge: { $0.first == 200 }))
        defer { stage.remove() }
        var huge: [Content] = []
        for user in ["eve", "mallory", "trudy"] { huge.append(try await stage.picture(200, of: user)) }
        let own = try await stage.picture(99, of: "anna")
        try await withThrowingTaskGroup { group in
            for content in huge { group.addTask { try await stage.draw(content) } }
            try await Poll.until("one huge picture to be drawn, and the others to wait") {
                stage.worker.jobs == 4 && stage.worker.atWork == 1
            }
            group.addTask { try await stage.draw(own) }
            try await Poll.until("anna's picture to be drawn beside") { stage.worker.atWork == 2 }
            stage.worker.open()
            try await group.waitForAll()
        }
        #expect(stage.worker.most == 2)
    }

    @Test func aPictureIsTriedAgainAfterAFailureThatWasNotItsFault() async throws {
        let failures: [PictureFailure] = [.unavailable("no program"), .failed("no memory")]
        let stage = try Stage(GatedPictures(failures: failures, isOpen: true))
        defer { stage.remove() }
        let content = try await stage.picture(1, of: "anna")
        var drawn: [Bool] = []
        for _ in 0..<4 { drawn.append(try await stage.pictures.picture(of: content, for: .tile) != nil) }
        #expect(drawn == [false, false, true, true])
        #expect(stage.worker.jobs == 3)
    }

    @Test(arguments: [
        PictureFailure.refused(PictureRefusal(.damaged, "cut")), .killedWorker("it ended with signal 11"),
    ])
    func aPictureThatCannotBeDrawnIsNotTriedAgain(failure: PictureFailure) async throws {
        let stage = try Stage(GatedPictures(failures: [failure], isOpen: true))
        defer { stage.remove() }
        let content = try await stage.picture(1, of: "anna")
        for _ in 0..<2 {
            let small = try await stage.pictures.picture(of: content, for: .tile)
            #expect(small == nil)
        }
        #expect(stage.worker.jobs == 1)
    }

    @Test func aPictureThatCannotBeDrawnIsNotTriedAgainForThoseWhoWait() async throws {
        let stage = try Stage(GatedPictures(failures: [.refused(PictureRefusal(.damaged, "cut"))]))
        defer { stage.remove() }
        let content = try await stage.picture(1, of: "anna")
        await withTaskGroup { group in
            // One is at work and all places to wait are taken when the last is refused.
            for _ in 0..<RequestCounts.mostWaiting + 2 {
                group.addTask {
                    do {
                        let small = try await stage.pictures.picture(of: content, for: .tile)
                        #expect(small == nil)
                    } catch {
                        #expect(error as? Refusal == .busy)
                        stage.worker.open()
                    }
                }
            }
        }
        #expect(stage.worker.jobs == 1)
    }
}

/// Draws pictures once the gate is open, after the given failures.
private final class GatedPictures: PictureWorking {
    private struct State {
        var failures: [PictureFailure]
        var isOpen: Bool
        var jobs = 0
        var atWork = 0
        var most = 0
    }

    private let state: Mutex<State>
    /// Whether the bytes of a picture stand for one with a hundred million pixels.
    private let isHuge: @Sendable ([UInt8]) -> Bool

    init(
        failures: [PictureFailure] = [], isOpen: Bool = false,
        isHuge: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }
    ) {
        state = Mutex(State(failures: failures, isOpen: isOpen))
        self.isHuge = isHuge
    }

    var jobs: Int { state.withLock { $0.jobs } }
    var atWork: Int { state.withLock { $0.atWork } }
    /// How many pictures were drawn at the same time.
    var most: Int { state.withLock { $0.most } }

    func open() { state.withLock { $0.isOpen = true } }

    func perform(
        _ operation: PictureJob.Operation, on picture: SharedDescriptor, into output: SharedDescriptor?,
        maximumPixels: Int
    ) async throws(PictureFailure) -> PictureFacts {
        var bytes = [UInt8](repeating: 0, count: 1)
        pread(picture.rawValue, &bytes, 1, 0)
        let isRefused = maximumPixels < 100_000_000 && isHuge(bytes)
        let failure = state.withLock { state -> PictureFailure? in
            state.jobs += 1
            if isRefused { return .refused(PictureRefusal(.tooManyPixels, "huge")) }
            state.atWork += 1
            state.most = max(state.most, state.atWork)
            return state.failures.isEmpty ? nil : state.failures.removeFirst()
        }
        if isRefused, let failure { throw failure }
        defer { state.withLock { $0.atWork -= 1 } }
        while !state.withLock({ $0.isOpen }) { await Task.yield() }
        if let failure { throw failure }
        if let output { write(output.rawValue, "drawn", 5) }
        return PictureFacts(width: 1, height: 1)
    }
}
