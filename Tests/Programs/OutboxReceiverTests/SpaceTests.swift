import Foundation
import Logging
import Synchronization
import Testing

@testable import OutboxReceiver

@Suite struct ReservationsTests {
    private static let id = Hex128.random()

    @Test func whatOthersWerePromisedTakesHalfOfTheSpaceAtMost() {
        var reservations = Reservations()
        reservations.promise(300, to: .random(), of: "a")
        #expect(reservations.space(for: "a", free: 1000) == 700)
        #expect(reservations.space(for: "b", free: 1000) == 700)
        reservations.promise(600, to: .random(), of: "a")
        #expect(reservations.space(for: "a", free: 1000) == 100)
        #expect(reservations.space(for: "b", free: 1000) == 500)
        reservations.promise(500, to: .random(), of: "b")
        #expect(reservations.space(for: "b", free: 1000) == 0)
        #expect(reservations.space(for: "c", free: 1000) == 500)
        #expect(reservations.space(for: "c", free: -10) == -10)
    }

    @Test func whatArrivedIsNoLongerPromised() {
        var reservations = Reservations()
        reservations.promise(300, to: Self.id, of: "a")
        reservations.receive(100, for: Self.id)
        #expect(reservations.space(for: "a", free: 1000) == 800)
        reservations.receive(-100, for: Self.id)
        #expect(reservations.space(for: "a", free: 1000) == 700)
        reservations.release(Self.id)
        reservations.release(Self.id)
        reservations.receive(100, for: Self.id)
        #expect(reservations.space(for: "a", free: 1000) == 1000)
    }

    @Test func aPromiseThatLapsedIsTakenUpByTheNextFragment() {
        var reservations = Reservations()
        reservations.promise(300, to: Self.id, of: "a")
        reservations.lapse(Self.id)
        reservations.lapse(Self.id)
        #expect(reservations.space(for: "b", free: 1000) == 1000)
        reservations.receive(100, for: Self.id)
        #expect(reservations.space(for: "b", free: 1000) == 800)
        reservations.release(Self.id)
        #expect(reservations.space(for: "b", free: 1000) == 1000)
    }
}

/// How the disk space is shared between users.
@Suite struct SpaceTests {
    private struct Machine {
        var time: Int64 = 1_800_000_000
        var free: Int64 = 1000
    }

    private final class World: Sendable {
        let state = Mutex(Machine())

        func store(_ root: URL) throws -> Store {
            try Store(
                path: root.path,
                limits: Store.Limits(freeSpaceFloor: 0, maximumFileSize: 1 << 30, maximumOpenUploads: 10),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                now: { self.state.withLock { $0.time } }, uptime: { self.state.withLock { $0.time } },
                freeSpace: { self.state.withLock { $0.free } })
        }
    }

    private func withStore(_ body: (Store, World) async throws -> Void) async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let world = World()
        try await body(try world.store(root), world)
    }

    private static func open(_ size: Int64, _ user: String, _ store: Store) async throws -> Hex128 {
        let plan = UploadPlan(
            user: user, size: size, md5: .random(), fileName: "a", path: nil, type: "image/jpeg", modified: nil)
        return try #require(try await store.preLoad([plan], user: user).first?.id)
    }

    @Test func aUserWhoWasPromisedAllSpaceLeavesHalfOfItToOthers() async throws {
        try await withStore { store, _ in
            _ = try await Self.open(1000, "a", store)
            await #expect(throws: Refusal.diskFull) { try await Self.open(1, "a", store) }
            _ = try await Self.open(500, "b", store)
            await #expect(throws: Refusal.diskFull) { try await Self.open(1, "b", store) }
        }
    }

    @Test func sizesBeyondAllDisksAreRefused() async throws {
        try await withStore { store, world in
            world.state.withLock { $0.free = 1 << 40 }
            let plan = UploadPlan(
                user: "a", size: .max / 2, md5: .random(), fileName: "a", path: nil, type: "image/jpeg", modified: nil)
            await #expect(throws: Refusal.diskFull) {
                try await store.preLoad(Array(repeating: plan, count: 5), user: "a")
            }
        }
    }

    @Test func aPromiseLapsesWhileNoByteComes() async throws {
        try await withStore { store, world in
            let id = try await Self.open(1000, "a", store)
            await #expect(throws: Refusal.diskFull) { try await Self.open(600, "b", store) }
            world.state.withLock { $0.time += Reservations.patience + 1 }
            _ = try await Self.open(600, "b", store)
            // The upload's id is still valid.
            #expect(store.answer(for: id, user: "a") == .failed)
        }
    }

    @Test func aFragmentThatWouldPassTheFloorIsRefused() async throws {
        try await withStore { store, world in
            let id = try await Self.open(1000, "a", store)
            guard case .upload(let upload) = try store.destination(of: id, user: "a") else { throw CancellationError() }
            world.state.withLock { $0.free = 999 }
            #expect(throws: Refusal.diskFull) { try Fragment.begin(0, of: upload, in: store) }
            world.state.withLock { $0.free = 1000 }
            #expect(try Fragment.begin(0, of: upload, in: store) != nil)
        }
    }

    // MARK: Quotas

    private static func preLoad(_ content: Data, _ token: String, _ server: TestServer) throws -> HTTPConnection.Reply {
        let file: [String: Any] = [
            "fileName": "b.jpg", "totalSize": content.count, "md5": TestServer.md5(content),
        ]
        return try server.post("/fileSection/preLoad.do", ["files": [file]], token: token)
    }

    @Test func aUserStoresNoMoreThanTheQuota() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let configure: (inout ReceiverConfiguration) -> Void = {
            $0.tokens = "alice-token alice, bob-token bob"
            $0.quota = 10_000
        }
        let first = TestServer.content(1000, seed: 1)
        let second = TestServer.content(1000, seed: 2)
        try await TestServer.run(root: root, configure: configure) { server in
            try server.upload(first, token: "alice-token")
            let refusal = try Self.preLoad(second, "alice-token", server)
            #expect(refusal.status == 507)
            #expect((refusal.json["message"] as? String)?.contains("quota of 10 kB") == true)
            // A content that the user already stored takes no further space.
            #expect(try Self.preLoad(first, "alice-token", server).status == 200)
            #expect(try Self.preLoad(second, "bob-token", server).status == 200)
            // Bob's open upload counts towards his quota too.
            #expect(try Self.preLoad(first, "bob-token", server).status == 507)
        }
        try await TestServer.run(root: root, configure: configure) { server in
            let status = try Self.preLoad(second, "alice-token", server).status
            #expect(status == 507)
        }
        // Contents removed by the administrator no longer count.
        let md5 = TestServer.md5(first)
        try FileManager.default.removeItem(at: root.appending(path: "objects/\(md5.prefix(2))/\(md5)"))
        try await TestServer.run(root: root, configure: configure) { server in
            let status = try Self.preLoad(second, "alice-token", server).status
            #expect(status == 200)
        }
    }
}
