import Clocks
import AgentTestSupport
import FileWatch
import Foundation
import Intake
import Synchronization
import TestSupport
import Testing

@testable import Agent
@testable import UploadCore

@Suite("Files read right after their last change")
struct RacyFilesTests {
    @Test("are hashed once more, exactly once, when any later change would show")
    func onceMore() async throws {
        // With this clock, the file looks changed just now.
        let bench = try await Bench(clock: .ahead(by: .zero))
        try await bench.drop("a", content(1))
        try await bench.ends("a", .done)
        #expect(try await bench.record("a")?.identity?.isUntrusted == true)
        bench.clock.advance(by: RacyFiles.delay)
        await bench.uploader.alarmRang()
        try await Poll.until("it to be trusted") { try await bench.record("a")?.identity?.isUntrusted == false }
        #expect(bench.reconsidered.withLock { $0 } == [try bench.path("a")])
        bench.clock.advance(by: .seconds(60))
        await bench.uploader.alarmRang()
        #expect(bench.reconsidered.withLock(\.count) == 1)
        #expect(bench.remote.registered.count == 1)
    }

    @Test("set no alarm once the agent ends")
    func ended() async throws {
        let bench = try await Bench(clock: .ahead(by: .zero))
        try await bench.drop("a", content(1))
        try await bench.ends("a", .done)
        try await Poll.until("the alarm") { await bench.uploader.alarm.isSet }
        await bench.uploader.stop(patience: .seconds(150))
        #expect(await !bench.uploader.alarm.isSet)
    }

    @Test("are uploaded again if overwritten without a trace")
    func overwritten() async throws {
        let bench = try await Bench(clock: .ahead(by: .zero))
        try await bench.drop("a", content(1))
        try await bench.ends("a", .done)
        let key = try #require(try await bench.record("a")?.key)
        // No event reports this change.
        try bench.write("a", content(2))
        bench.clock.advance(by: RacyFiles.delay)
        await bench.uploader.alarmRang()
        try await Poll.until("the new content to be there") {
            let record = try await bench.record("a")
            return record?.state == .done && record?.key != key
        }
    }

    @Test("are hashed once more after a restart")
    func restart() async throws {
        let first = try await Bench(clock: .ahead(by: .zero))
        try await first.drop("a", content(1))
        try await first.ends("a", .done)
        await first.kill()
        let second = try await Bench(place: first.place, remote: first.remote)
        let record = try #require(try await second.record("a"))
        #expect(!record.isJudged(for: FileIdentity(try second.status("a"))))
        try await second.ready("a")
        try await Poll.until("it to be trusted") { try await second.record("a")?.identity?.isUntrusted == false }
        #expect(try await second.record("a")?.state == .done)
    }

    @Test("stay untrusted after a rename, and are checked again under the new name")
    func renamed() async throws {
        let bench = try await Bench(settlesAtOnce: false)
        let early = HandClock.ahead(by: .zero)
        let racy = try await Bench(clock: early, settlesAtOnce: false)
        for bench in [bench, racy] {
            try await bench.drop("a", content(1))
            try await bench.ends("a", .done)
            try await bench.rename("a", to: "b")
        }
        #expect(try await bench.record("b")?.identity?.isUntrusted == false)
        #expect(bench.reconsidered.withLock { $0 } == [])
        #expect(try await racy.record("b")?.identity?.isUntrusted == true)
        #expect(racy.reconsidered.withLock { $0 } == [try racy.path("b")])
    }

    @Test("are trusted after the second hash even if the wall clock is behind their times")
    func clockBehind() throws {
        var files = RacyFiles()
        let path = try #require(RelativePath("a"))
        let wall = WallTime(milliseconds: 1_795_253_400_000)
        let future = wall.milliseconds * 1_000_000 + 3_600_000_000_000
        let file = FileIdentity(device: 1, inode: 2, size: 3, modified: future, changed: future, born: 0)
        let start = MonotonicTime(nanoseconds: 1)
        #expect(files.judge(path, file, Now(monotonic: start, wall: wall)).isUntrusted)
        #expect(files.judge(path, file, Now(monotonic: start + .seconds(1), wall: wall)).isUntrusted)
        #expect(files.takeDue(now: start + .seconds(2)) == [])
        #expect(files.nextDeadline == start + RacyFiles.delay)
        #expect(files.takeDue(now: start + RacyFiles.delay) == [path])
        #expect(files.nextDeadline == nil)
        #expect(files.judge(path, file, Now(monotonic: start + .seconds(3), wall: wall)) == file)
    }
}

@Suite("Links to one file")
struct LinkTests {
    @Test("are read once and share the outcome, except a link removed meanwhile")
    func once() async throws {
        let bench = try await Bench()
        let size = 20_000_000
        try bench.write("0", content(1, size))
        let names = (0..<200).map(String.init)
        for name in names.dropFirst() {
            try FileManager.default.linkItem(atPath: "\(bench.outbox)/0", toPath: "\(bench.outbox)/\(name)")
        }
        let events = try names.map { WatchEvent.ready(try bench.path($0), try bench.status($0)) }
        await bench.uploader.take(events)
        for name in names { try await bench.ends(name, .done) }
        #expect(await bench.uploader.status.counters.bytesHashed == UInt64(size))
        #expect(bench.remote.registered.count == 1)
    }

    @Test("are read through the next name if the first is gone")
    func firstGone() async throws {
        let bench = try await Bench()
        try bench.write("a", content(1))
        for name in ["b", "c"] {
            try FileManager.default.linkItem(atPath: "\(bench.outbox)/a", toPath: "\(bench.outbox)/\(name)")
        }
        let events = try ["a", "b", "c"].map { WatchEvent.ready(try bench.path($0), try bench.status($0)) }
        try FileManager.default.removeItem(atPath: "\(bench.outbox)/a")
        await bench.uploader.take(events)
        for name in ["b", "c"] { try await bench.ends(name, .done) }
    }
}

@Suite("Files removed before the agent looks at them")
struct ShortLivedFileTests {
    @Test("leave no record, no sidecar and no upload")
    func nothing() async throws {
        let bench = try await Bench()
        let names = (0..<1000).map { "temporary/\($0)" }
        await bench.uploader.take(
            try names.flatMap { [WatchEvent.seen(try bench.path($0)), .gone(try bench.path($0))] })
        #expect(await bench.uploader.core { $0.book.drops.isEmpty })
        #expect(await bench.uploader.core { $0.book.nextDeadline } == nil)
        #expect(try await bench.record("temporary/7") == nil)
        try await bench.drop("a", content(1))
        try await bench.ends("a", .done)
        #expect(bench.sidecar("temporary/7") == nil)
    }
}
