import Foundation
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@testable import Avatars

@Suite(.timeLimit(.minutes(2)))
struct UpkeepTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private var wanted: String { directory.path("wanted.txt") }

    private func write(_ lines: [String]) throws {
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: wanted))
    }

    private func running(_ bench: Bench, _ body: () async throws -> Void) async throws {
        let upkeep = Task { await bench.cache.run() }
        do {
            try await body()
        } catch {
            upkeep.cancel()
            throw error
        }
        upkeep.cancel()
        await upkeep.value
    }

    private func urls(_ bench: Bench) async -> Set<String> {
        Set(((try? await bench.cache.entries()) ?? []).map { String($0.address.url.dropFirst(bench.server.url.count)) })
    }

    @Test func `wanted pictures are mirrored, and edits are noticed, in place or by rename`() async throws {
        let bench = try Bench(try .serving(), options: AvatarOptions(wantedFile: wanted))
        let url = bench.server.url
        try write(["\(url)/1.png", "nonsense"])
        try await running(bench) {
            try await Poll.until("the first is mirrored") { await urls(bench) == ["/1.png"] }
            try write(["\(url)/1.png", "\(url)/2.png rect:10x10"])
            try await Poll.until("the second is drawn") { bench.pictures.drawn == ["rect:10x10"] }
            try Data("\(url)/3.png\n".utf8).write(to: URL(fileURLWithPath: directory.path("new")))
            #expect(rename(directory.path("new"), wanted) == 0)
            try await Poll.until("the third is mirrored") { await urls(bench).contains("/3.png") }
        }
        #expect(bench.server.startedRequests == 3)
    }

    @Test func `a list that comes later is found`() async throws {
        let bench = try Bench(try .serving(), options: AvatarOptions(wantedFile: wanted))
        try await running(bench) {
            try write(["\(bench.server.url)/1.png"])
            try await Poll.until("it is mirrored") { await urls(bench) == ["/1.png"] }
        }
    }

    @Test func `many wanted pictures come, a few at a time`() async throws {
        let bench = try Bench(try .serving(), options: AvatarOptions(maximumDownloads: 3, wantedFile: wanted))
        try write((0..<40).map { "\(bench.server.url)/\($0).png" })
        try await running(bench) {
            try await Poll.until("all are mirrored") { await urls(bench).count == 40 }
        }
        #expect(bench.server.startedRequests == 40)
    }

    @Test func `low memory cancels prefetching and empties the memory`() async throws {
        let server = try ScriptedServer { $0.target == "/slow.png" ? .hang : .response(status: 200, body: png()) }
        let bench = try Bench(server, options: AvatarOptions(wantedFile: wanted))
        _ = try await bench.picture("/a.png")
        #expect(await bench.cache.memory.count == 1)
        try write(["\(server.url)/slow.png"])
        try await running(bench) {
            try await Poll.until("somebody listens") { bench.pressure.isHeard }
            try await Poll.until("the slow one is asked for") { server.requests.contains { $0.target == "/slow.png" } }
            bench.pressure.warn()
            try await Poll.until("memory is empty") { await bench.cache.memory.count == 0 }
            try await Poll.until("the slow one is given up") { await bench.cache.desk.isIdle }
        }
        #expect(await bench.cache.failures().isEmpty)
        #expect(try await bench.picture("/a.png").bytes == png())
        #expect(server.requests.filter { $0.target == "/a.png" }.count == 1)
    }

    @Test func `low memory stops prefetching for a while, not just what runs`() async throws {
        let server = try ScriptedServer { _ in .hang }
        let bench = try Bench(server, options: AvatarOptions(wantedFile: wanted))
        try write((0..<40).map { "\(server.url)/\($0).png" })
        try await running(bench) {
            try await Poll.until("somebody listens") { bench.pressure.isHeard }
            try await Poll.until("some are asked for") { server.requests.count == 5 }
            bench.pressure.warn()
            try await Poll.until("they are given up") { await bench.cache.desk.isIdle }
            await bench.cache.networkChanged()
            #expect(await bench.cache.desk.isIdle)
        }
        // A sixth download waited for a slot. Its request may have started just before the cancellation.
        #expect(server.requests.count <= 6)
    }

    @Test func `wanted pictures that were cleared come again`() async throws {
        let bench = try Bench(try .serving(), options: AvatarOptions(wantedFile: wanted))
        try write(["\(bench.server.url)/1.png"])
        try await running(bench) {
            try await Poll.until("it is mirrored") { await urls(bench) == ["/1.png"] }
            _ = try await bench.cache.clear(olderThan: nil)
            try await Poll.until("it is mirrored again") { await urls(bench) == ["/1.png"] }
        }
        #expect(bench.server.startedRequests == 2)
    }

    @Test func `wanted pictures that do not fit are not fetched over and over`() async throws {
        let bench = try Bench(try .serving(), options: AvatarOptions(maximumSize: 0, wantedFile: wanted))
        try write(["\(bench.server.url)/1.png", "\(bench.server.url)/2.png"])
        try await running(bench) {
            try await Poll.until("both were removed") {
                bench.events().filter { if case .removed = $0 { true } else { false } }.count == 2
            }
            await bench.cache.networkChanged()
            try await Poll.until("nothing is under way") { await bench.cache.desk.isIdle }
        }
        #expect(bench.server.startedRequests == 2)
    }

    @Test func `a picture that wants to be asked about each time counts as had once it was`() async throws {
        let bench = try Bench(
            try .serving(png(), [("Cache-Control", "no-cache")]), options: AvatarOptions(wantedFile: wanted))
        let url = bench.server.url
        try write(["\(url)/1.png"])
        try await running(bench) {
            try await Poll.until("it is mirrored") { await urls(bench) == ["/1.png"] }
            try write(["\(url)/1.png", "\(url)/2.png"])
            try await Poll.until("the next is mirrored") { await urls(bench).count == 2 }
            // An interrupted download would start again at once.
            await bench.cache.networkChanged()
            try write(["\(url)/1.png", "\(url)/2.png", "\(url)/3.png"])
            try await Poll.until("the last is mirrored") { await urls(bench).count == 3 }
        }
        #expect(bench.server.requests.filter { $0.target == "/1.png" }.count == 1)
    }

    @Test func `what only the list wants is drawn in the background`() async throws {
        let background = CountingPictures()
        let bench = try Bench(try .serving(), background: background, options: AvatarOptions(wantedFile: wanted))
        try write(["\(bench.server.url)/1.png rect:10x10"])
        try await running(bench) {
            try await Poll.until("it is drawn") { background.drawn == ["rect:10x10"] }
            _ = try await bench.picture("/2.png", .rect(20))
        }
        #expect(background.state.withLock { $0.measured } == 1)
        #expect(bench.pictures.drawn == ["rect:20x20"])
    }

    @Test func `upkeep ends when it is cancelled, with nothing left under way`() async throws {
        let server = try ScriptedServer { _ in .hang }
        let bench = try Bench(server, options: AvatarOptions(wantedFile: wanted))
        try write(["\(server.url)/slow.png"])
        try await running(bench) {
            try await Poll.until("it is asked for") { server.requests.count == 1 }
        }
        try await Poll.until("it is given up") { await bench.cache.desk.isIdle }
    }
}

struct FileChangesTests {
    @Test func `a directory that was removed and made anew is noticed though somebody has it open`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("mirror")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let held = try Directory(path: path)
        let seen = Mutex([String?]())
        let texts = FileChanges(path: path + "/wanted.txt").stream(interval: 10) {
            FileManager.default.contents(atPath: path + "/wanted.txt").map { String(decoding: $0, as: UTF8.self) }
        }
        let reader = Task { for await text in texts { seen.withLock { $0.append(text) } } }
        defer { reader.cancel() }
        try await Poll.until("it is looked at") { seen.withLock { $0 == [nil] } }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data("one".utf8).write(to: URL(fileURLWithPath: path + "/wanted.txt"))
        try await Poll.until("the new one is found") { seen.withLock { $0.last == "one" } }
        try Data("two".utf8).write(to: URL(fileURLWithPath: path + "/wanted.txt"))
        try await Poll.until("the new one is watched") { seen.withLock { $0.last == "two" } }
        withExtendedLifetime(held) {}
    }
}

struct KernelMemoryPressureTests {
    @Test func `without the kernel's word the available memory is looked at`() throws {
        let directory = try TemporaryDirectory()
        let source = KernelMemoryPressure(pressureFile: directory.path("none"))
        #expect(source.description.contains("/proc/meminfo"))
    }

    @Test(.enabled(if: FileManager.default.isWritableFile(atPath: "/proc/pressure/memory")))
    func `where the kernel has it, a trigger is set`() {
        #expect(KernelMemoryPressure().description == "a trigger on /proc/pressure/memory")
    }

    @Test(arguments: [
        ("MemTotal: 1000000 kB\nMemFree: 1 kB\nMemAvailable: 49999 kB\n", true),
        ("MemTotal: 1000000 kB\nMemFree: 1 kB\nMemAvailable: 50000 kB\n", false), ("", false),
        ("MemTotal: x kB\n", false),
    ])
    func `memory is short where a twentieth is left`(text: String, isShort: Bool) throws {
        let directory = try TemporaryDirectory()
        try Data(text.utf8).write(to: URL(fileURLWithPath: directory.path("meminfo")))
        let source = KernelMemoryPressure(
            pressureFile: directory.path("none"), memoryFile: directory.path("meminfo"))
        #expect(source.isShort == isShort)
    }
}
