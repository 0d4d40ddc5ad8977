import Foundation
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing
import UploadCore

@testable import FileWatch

/// The kernel refuses watches, and later allows more.
@Suite struct LimitTests {
    /// A kernel that allows a given number of watches.
    private final class Room: Sendable {
        private let left: Mutex<Int>
        private let owned = Mutex<Set<Int32>>([])

        init(_ watches: Int) { left = Mutex(watches) }

        func add(_ watches: Int) { left.withLock { $0 += watches } }

        var kernel: Kernel {
            var kernel = Kernel()
            kernel.watch = { queue, directory, isRoot throws(Errno) in
                let watch = try queue.watch(directory, isRoot: isRoot)
                if self.owned.withLock({ $0.contains(watch) }) { return watch }
                let hasRoom = self.left.withLock { left in
                    left -= 1
                    return left >= 0
                }
                if hasRoom {
                    self.owned.withLock { _ = $0.insert(watch) }
                    return watch
                }
                self.left.withLock { $0 += 1 }
                queue.unwatch(watch)
                throw .noSpace
            }
            return kernel
        }
    }

    @Test func `directories beyond the limit of watches are polled, and told of once`() async throws {
        let outbox = try Outbox(kernel: Room(2).kernel)
        for name in ["a", "b", "c"] { try outbox.makeDirectory(name) }
        try await outbox.start()
        for name in ["a", "b", "c"] { try outbox.write("\(name)/f") }
        for name in ["a", "b", "c"] { try await outbox.sees("ready \(name)/f") }
        let scan = try await outbox.rescan()
        #expect(scan.unwatched == 2)
        #expect(outbox.watch.counters.polled == [.limit(.watches): 2])
        #expect(outbox.watch.counters.watches == 2)
        #expect(outbox.limits.map(\.cause) == [.watches])
        #expect(outbox.limits.first?.remedy.contains("max_user_watches") == true)
    }

    @Test func `polled directories are watched once there is room, and a new shortage is told of again`() async throws {
        let room = Room(1)
        let outbox = try Outbox(kernel: room.kernel)
        try outbox.makeDirectory("a")
        try await outbox.start()
        room.add(1)
        try await Poll.until("all are watched") { outbox.watch.counters.watches == 2 }
        #expect(try await outbox.rescan().unwatched == 0)
        #expect(outbox.watch.counters.polled.isEmpty)
        try outbox.write("a/f")
        try await outbox.sees("ready a/f")
        try outbox.makeDirectory("b")
        try await Poll.until("a second warning") { outbox.limits.count == 2 }
        try outbox.write("b/g")
        try await outbox.sees("ready b/g")
    }

    @Test func `without an instance everything is polled until one can be had`() async throws {
        let isExhausted = Mutex(true)
        var kernel = Kernel()
        kernel.openQueue = { wakeup throws(Errno) in
            if isExhausted.withLock(\.self) { throw .tooManyOpenFiles }
            return try InotifyQueue(wakeup: wakeup)
        }
        let outbox = try Outbox(kernel: kernel)
        try outbox.makeDirectory("a/b")
        try await outbox.start()
        try outbox.write("a/b/f")
        try await outbox.sees("ready a/b/f")
        try outbox.makeDirectory("a/c")
        try outbox.write("a/c/g")
        try await outbox.sees("ready a/c/g")
        #expect(outbox.scans.first?.unwatched == 3)
        #expect(outbox.limits.map(\.directory) == [.root])
        #expect(outbox.limits.map(\.cause) == [.instances])
        #expect(outbox.limits.first?.remedy.contains("max_user_instances") == true)
        isExhausted.withLock { $0 = false }
        try await Poll.until("all are watched") { outbox.watch.counters.watches == 4 }
        #expect(try await outbox.rescan().unwatched == 0)
    }

    @Test func `an outbox that is back while no instance can be had is polled`() async throws {
        let isExhausted = Mutex(false)
        var kernel = Kernel()
        kernel.openQueue = { wakeup throws(Errno) in
            if isExhausted.withLock(\.self) { throw .tooManyOpenFiles }
            return try InotifyQueue(wakeup: wakeup)
        }
        let outbox = try Outbox(kernel: kernel)
        try await outbox.start()
        isExhausted.withLock { $0 = true }
        #expect(rename(outbox.root, outbox.directory.path("away")) == 0)
        try await outbox.sees("lost")
        #expect(rename(outbox.directory.path("away"), outbox.root) == 0)
        try await outbox.sees("back true")
        try outbox.write("a")
        try await outbox.sees("ready a")
        #expect(outbox.limits.map(\.cause) == [.instances])
    }

    @Test func `a file that is polled and still being written is not ready`() async throws {
        let outbox = try Outbox(kernel: Room(0).kernel)
        try await outbox.start()
        let file = try Writer(outbox.path("slow"))
        try file.append("x")
        try await outbox.sees("seen slow")
        let before = outbox.watch.counters.polls
        try await Poll.until("more polls") { outbox.watch.counters.polls > before + 10 }
        #expect(!outbox.story.contains("ready slow"))
        file.close()
        try await outbox.sees("ready slow")
    }

    @Test func `the same error means instances, or descriptors where none is left`() {
        #expect(WatchLimit.Cause(.tooManyOpenFiles, canOpen: true) == .instances)
        #expect(WatchLimit.Cause(.tooManyOpenFiles, canOpen: false) == .descriptors)
        #expect(WatchLimit.Cause(.tooManyOpenFilesInSystem, canOpen: true) == .descriptors)
        #expect(WatchLimit.Cause(.noSpace, canOpen: true) == .watches)
        #expect(WatchLimit.Cause(.noMemory, canOpen: true) == .other(.noMemory))
    }

    @Test func `a remedy names sysctl, present value and a larger one`() throws {
        let directory = try TemporaryDirectory()
        for (name, value) in [("fs/inotify/max_user_watches", "1048576\n"), ("user/max_inotify_watches", "20\n")] {
            let file = URL(filePath: directory.path(name))
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(value.utf8).write(to: file)
        }
        let setting = try #require(InotifyLimit.watches.setting(in: directory.path))
        #expect(setting == .init(name: "user.max_inotify_watches", value: 20, suggestion: 524_288))
        #expect(setting.remedy.contains("sudo sysctl user.max_inotify_watches=524288"))
        #expect(setting.remedy.contains("is 20") && setting.remedy.contains("/etc/sysctl.d/"))
        #expect(InotifyLimit.instances.setting(in: directory.path) == nil)
    }

    @Test(arguments: InotifyLimit.allCases)
    func `every limit can be read and what is suggested is more`(limit: InotifyLimit) throws {
        let setting = try #require(limit.setting())
        #expect(setting.value >= 0 && setting.suggestion > setting.value)
    }

    @Test func `nothing wakes the watch while nothing happens`() async throws {
        let idle = try Outbox(kernel: .withoutMounts)
        try await idle.start()
        // The scans of a second, busy watch measure the time.
        let busy = try Outbox()
        try await busy.start()
        _ = try await idle.rescan()
        var before = idle.watch.counters
        try await Poll.until("the rounds that the scan still owes") {
            defer { before = idle.watch.counters }
            return idle.watch.counters == before
        }
        for _ in 0..<50 { _ = try await busy.rescan() }
        #expect(idle.watch.counters == before)
    }
}
