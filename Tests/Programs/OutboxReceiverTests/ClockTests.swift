import Foundation
import Logging
import Synchronization
import Testing

@testable import OutboxReceiver

/// A wall clock, and an uptime that setting the wall clock doesn't change.
private final class TestClock: Sendable {
    private let state = Mutex((time: Int64(1_800_000_000), uptime: Int64(500)))

    var time: Int64 { state.withLock { $0.time } }
    var uptime: Int64 { state.withLock { $0.uptime } }

    func pass(_ seconds: Int64) {
        state.withLock { $0 = ($0.time + seconds, $0.uptime + seconds) }
    }

    func set(by seconds: Int64) {
        state.withLock { $0.time += seconds }
    }
}

@Suite struct ClockTests {
    private static let day: Int64 = 24 * 3600
    private let clock = TestClock()

    private func withStore(_ root: URL, _ body: (Store) async throws -> Void) async throws {
        let clock = clock
        try await body(
            try Store(
                path: root.path,
                limits: Store.Limits(freeSpaceFloor: 0, maximumFileSize: 1 << 30, maximumOpenUploads: 10),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { clock.time },
                uptime: { clock.uptime }))
    }

    private func withRoot(_ body: (URL) async throws -> Void) async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        try await body(root)
    }

    private static func open(_ store: Store) async throws -> Hex128 {
        let plan = UploadPlan(
            user: "a", size: 10, md5: .random(), fileName: "a", path: nil, type: "image/jpeg", modified: nil)
        return try #require(try await store.preLoad([plan], user: "a").first?.id)
    }

    @Test func anUploadWithoutProgressExpiresAfterSevenDays() async throws {
        try await withRoot { root in
            try await withStore(root) { store in
                let id = try await Self.open(store)
                clock.pass(7 * Self.day)
                store.keepHouse()
                #expect(store.answer(for: id, user: "a") == .failed)
                clock.pass(1)
                store.keepHouse()
                #expect(store.answer(for: id, user: "a") == .unknown)
            }
        }
    }

    @Test(arguments: [-day, day, 30 * day, -30 * day])
    func settingTheClockMakesNothingOlderOrYounger(by seconds: Int64) async throws {
        try await withRoot { root in
            try await withStore(root) { store in
                let id = try await Self.open(store)
                clock.pass(6 * Self.day)
                store.keepHouse()
                clock.set(by: seconds)
                store.keepHouse()
                #expect(store.answer(for: id, user: "a") == .failed)
                clock.pass(Self.day)
                store.keepHouse()
                #expect(store.answer(for: id, user: "a") == .failed)
                clock.pass(1)
                store.keepHouse()
                #expect(store.answer(for: id, user: "a") == .unknown)
            }
        }
    }

    /// Between a jump and its discovery, minutes may pass.
    @Test(arguments: [-365 * day, 365 * day])
    func whatBeganSinceTheClockWasSetKeepsItsAge(by seconds: Int64) async throws {
        try await withRoot { root in
            try await withStore(root) { store in
                clock.set(by: seconds)
                let id = try await Self.open(store)
                clock.pass(60)
                store.keepHouse()
                #expect(store.answer(for: id, user: "a") == .failed)
                clock.pass(7 * Self.day)
                store.keepHouse()
                #expect(store.answer(for: id, user: "a") == .unknown)
            }
        }
    }

    /// A machine without a battery begins in 1970, and the journal has times of its last run.
    @Test func timesOfTheFutureDoNotGoFurther() async throws {
        try await withRoot { root in
            var id = Hex128.random()
            try await withStore(root) { store in id = try await Self.open(store) }
            let now = clock.time
            clock.set(by: -now)
            try await withStore(root) { store in
                clock.set(by: now)
                store.keepHouse()
                clock.pass(7 * Self.day + 1)
                store.keepHouse()
                #expect(store.answer(for: id, user: "a") == .unknown)
            }
        }
    }

    @Test func agesOutliveARestartAfterTheClockWasSet() async throws {
        try await withRoot { root in
            var id = Hex128.random()
            try await withStore(root) { store in
                id = try await Self.open(store)
                clock.set(by: 300 * Self.day)
                store.keepHouse()
            }
            try await withStore(root) { store in
                store.keepHouse()
                #expect(store.answer(for: id, user: "a") == .failed)
                clock.pass(7 * Self.day + 1)
                store.keepHouse()
                #expect(store.answer(for: id, user: "a") == .unknown)
            }
        }
    }

    @Test func slowDriftIsNoJump() {
        var watch = ClockWatch(time: 1000, uptime: 0)
        #expect(watch.jump(time: 1605, uptime: 600) == nil)
        #expect(watch.jump(time: 1605 + 600 + Self.day, uptime: 1200)?.seconds == Self.day)
        #expect(watch.jump(time: 1605 + 1200, uptime: 1800)?.seconds == -Self.day)
    }
}
