import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing
import UploadCore

@testable import FileWatch

/// Files appear, change and vanish while the outbox is watched.
@Suite struct WatchingTests {
    @Test func `a written file is seen and then ready`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        try outbox.write("a.jpg")
        try await outbox.sees("ready a.jpg")
        #expect(outbox.story.filter { $0.hasSuffix("a.jpg") } == ["seen a.jpg", "ready a.jpg"])
    }

    @Test func `the status told with ready is the file's`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        try outbox.write("a.jpg")
        try await outbox.sees("ready a.jpg")
        let status = try FileStatus(path: outbox.path("a.jpg"))
        #expect(outbox.events.contains(.ready(try relative("a.jpg"), status)))
    }

    @Test func `a hard link is ready`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        let source = outbox.directory.path("source")
        try Data("x".utf8).write(to: URL(filePath: source))
        #expect(link(source, outbox.path("linked")) == 0)
        try await outbox.sees("ready linked")
    }

    @Test func `an unnamed file that gets a name is ready`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        let temporary = 0o20_200_000
        let file = open(outbox.root, Int32(temporary) | O_WRONLY | O_CLOEXEC, 0o600)
        try #require(file >= 0)
        #expect(write(file, "x", 1) == 1)
        #expect(linkat(AT_FDCWD, "/proc/self/fd/\(file)", AT_FDCWD, outbox.path("t.jpg"), AT_SYMLINK_FOLLOW) == 0)
        try await outbox.sees("seen t.jpg")
        close(file)
        try await outbox.sees("ready t.jpg")
    }

    @Test func `a file moved in is ready`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        let source = outbox.directory.path("source")
        try Data("x".utf8).write(to: URL(filePath: source))
        #expect(rename(source, outbox.path("moved")) == 0)
        try await outbox.sees("ready moved")
    }

    @Test func `a file that was written long ago is ready soon after it was moved in`() async throws {
        let outbox = try Outbox(.quick(settle: .seconds(3600)))
        try await outbox.start()
        let source = outbox.directory.path("source")
        try Data("x".utf8).write(to: URL(filePath: source))
        let longAgo = Date(timeIntervalSince1970: 1e9)
        try FileManager.default.setAttributes([.modificationDate: longAgo], ofItemAtPath: source)
        #expect(rename(source, outbox.path("moved")) == 0)
        try await outbox.sees("ready moved")
        #expect(outbox.story.filter { $0.hasSuffix("moved") } == ["seen moved", "ready moved"])
    }

    @Test func `a file is not ready while a writer has it open`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        let file = try Writer(outbox.path("slow"))
        try file.append("first")
        try await outbox.sees("seen slow")
        // Several files settle one after the other, which takes longer than the settling time of the first file.
        for index in 0..<4 {
            try outbox.write("other\(index)")
            try await outbox.sees("ready other\(index)")
        }
        #expect(!outbox.story.contains("ready slow"))
        try file.append("last")
        file.close()
        try await outbox.sees("ready slow")
    }

    @Test func `a file is not ready while a writable mapping of it exists`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        let file = open(outbox.path("mapped"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(ftruncate(file, 4096) == 0)
        let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
        close(file)
        for index in 0..<4 {
            try outbox.write("other\(index)")
            try await outbox.sees("ready other\(index)")
        }
        #expect(!outbox.story.contains("ready mapped"))
        munmap(memory, 4096)
        try await outbox.sees("ready mapped")
    }

    @Test func `writing a file again makes it ready again`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        try outbox.write("a", "one")
        try await outbox.sees("ready a")
        try outbox.write("a", "two")
        try await outbox.sees("ready a", times: 2)
        #expect(outbox.story.count { $0 == "seen a" } == 2)
    }

    @Test func `a reconsidered file is ready again without being seen`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        try outbox.write("a")
        try await outbox.sees("ready a")
        outbox.watch.reconsider(try relative("a"))
        try await outbox.sees("ready a", times: 2)
        #expect(outbox.story.count { $0 == "seen a" } == 1)
    }

    @Test func `reconsidering a file that vanished tells that it is gone`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        outbox.watch.reconsider(try relative("nothing"))
        try await outbox.sees("gone nothing")
    }

    @Test func `a removed file is gone`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        try outbox.write("a")
        try await outbox.sees("ready a")
        #expect(unlink(outbox.path("a")) == 0)
        try await outbox.sees("gone a")
    }

    @Test func `a file moved out is gone`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        try outbox.write("a")
        try await outbox.sees("ready a")
        #expect(rename(outbox.path("a"), outbox.directory.path("a")) == 0)
        try await outbox.sees("gone a")
    }

    @Test func `a file moved out of a directory is gone, also if another directory takes the directory's name`()
        async throws
    {
        let outbox = try Outbox()
        for name in ["a", "b"] { try outbox.makeDirectory(name) }
        try outbox.write("b/f")
        try await outbox.start()
        try await outbox.sees("ready b/f")
        #expect(rename(outbox.path("b/f"), outbox.directory.path("f")) == 0)
        #expect(rename(outbox.path("a"), outbox.path("b")) == 0)
        try await outbox.sees("renamed a b")
        try await outbox.sees("gone b/f")
    }

    @Test func `a renamed file is told of with both names and never as gone`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        try outbox.makeDirectory("d")
        try outbox.write("d/a")
        try await outbox.sees("ready d/a")
        #expect(rename(outbox.path("d/a"), outbox.path("b")) == 0)
        try await outbox.sees("ready b")
        #expect(outbox.story.contains("renamed d/a b"))
        #expect(!outbox.story.contains("gone d/a") && !outbox.story.contains("seen b"))
    }

    @Test func `a file renamed from an ignored name is a new one`() async throws {
        let outbox = try Outbox(.quick(isIgnored: { path, _ in path.name.last == UInt8(ascii: "~") }))
        try await outbox.start()
        try outbox.write("a~")
        #expect(rename(outbox.path("a~"), outbox.path("a")) == 0)
        try await outbox.sees("ready a")
        #expect(outbox.story.filter { !$0.hasPrefix("scanned") } == ["seen a", "ready a"])
    }

    @Test func `a file renamed to an ignored name is gone`() async throws {
        let outbox = try Outbox(.quick(isIgnored: { path, _ in path.name.last == UInt8(ascii: "~") }))
        try await outbox.start()
        try outbox.write("a")
        try await outbox.sees("ready a")
        #expect(rename(outbox.path("a"), outbox.path("a~")) == 0)
        try await outbox.sees("gone a")
        #expect(!outbox.story.contains { $0.hasPrefix("renamed") })
    }

    @Test func `exchanged names are both settled again`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        try outbox.write("a", "one")
        try outbox.write("b", "two")
        try await outbox.sees("ready a")
        try await outbox.sees("ready b")
        #expect(exchange(outbox.path("a"), outbox.path("b")) == 0)
        try await outbox.sees("ready a", times: 2)
        try await outbox.sees("ready b", times: 2)
    }

    @Test func `a file whose permissions are changed is ready again`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        try outbox.write("a")
        try await outbox.sees("ready a")
        #expect(chmod(outbox.path("a"), 0o400) == 0)
        try await outbox.sees("ready a", times: 2)
    }

    @Test func `creating and removing in quick succession ends in the last state`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        for _ in 0..<200 {
            try outbox.write("a")
            #expect(unlink(outbox.path("a")) == 0)
        }
        try outbox.write("a", "the last")
        try await outbox.sees("ready a")
        let summary = try await outbox.rescan()
        #expect(summary.contains(try relative("a")))
        // The scan may report the file once more, and wait until it is quiet.
        try await Poll.until("the last report to be that the file is ready") {
            outbox.story.last { $0 == "gone a" || $0 == "seen a" || $0 == "ready a" } == "ready a"
        }
    }

    @Test(arguments: [[0xFF, 0xFE, 0x41], [0x0A, 0x20, 0x5C, 0x22], Array(repeating: 0xC3, count: 255)] as [[UInt8]])
    func `any name the file system takes is told of byte for byte`(name: [UInt8]) async throws {
        let outbox = try Outbox()
        try await outbox.start()
        let directory = try Directory(path: outbox.root)
        _ = try directory.open(name, flags: O_WRONLY | O_CREAT, mode: 0o600)
        let path = try #require(RelativePath(name))
        try await Poll.until("the file is ready", timeout: .seconds(120)) {
            outbox.events.contains { if case .ready(path, _) = $0 { true } else { false } }
        }
    }

    @Test func `a burst of 10,000 files is ready to the last one`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        for index in 0..<10_000 { try outbox.write("f\(index)", "x") }
        try await Poll.until("all are ready", timeout: .seconds(120)) {
            outbox.events.count { if case .ready = $0 { true } else { false } } >= 10_000
        }
        #expect(Set(outbox.story.filter { $0.hasPrefix("ready") }).count == 10_000)
    }
}
