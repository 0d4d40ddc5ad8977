import Foundation
import Glibc
import TestSupport
import Testing
import UploadCore

@testable import FileWatch

/// Directories appear, move and vanish.
@Suite struct DirectoryTests {
    @Test func `files in a new directory are found, whether made before or after it is watched`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        for index in 0..<1000 {
            try outbox.makeDirectory("d\(index)/e")
            try outbox.write("d\(index)/e/f", "x")
        }
        try await Poll.until("all are ready", timeout: .seconds(120)) {
            Set(outbox.story.filter { $0.hasPrefix("ready") }).count == 1000
        }
        // The watch now covers each directory, too.
        for index in 0..<1000 { try outbox.write("d\(index)/e/g", "x") }
        try await Poll.until("the second files are ready", timeout: .seconds(120)) {
            Set(outbox.story.filter { $0.hasPrefix("ready") }).count == 2000
        }
    }

    @Test func `a tree moved in is taken and watched`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        let source = outbox.directory.path("source")
        try FileManager.default.createDirectory(atPath: source + "/b/c", withIntermediateDirectories: true)
        try Data("x".utf8).write(to: URL(filePath: source + "/b/c/f"))
        #expect(rename(source, outbox.path("a")) == 0)
        try await outbox.sees("ready a/b/c/f")
        try outbox.write("a/b/c/g")
        try await outbox.sees("ready a/b/c/g")
    }

    @Test func `a renamed directory keeps its watches under the new name`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        try outbox.makeDirectory("a/b")
        try outbox.write("a/b/f")
        try await outbox.sees("ready a/b/f")
        #expect(rename(outbox.path("a"), outbox.path("z")) == 0)
        try outbox.write("z/b/g")
        try await outbox.sees("ready z/b/g")
        #expect(outbox.story.contains("renamed a z"))
        #expect(!outbox.story.contains { $0.hasPrefix("gone") })
        #expect(outbox.story.count { $0 == "ready z/b/f" } == 0)
    }

    @Test func `a directory renamed while its files settle takes them along`() async throws {
        // Long enough for the rename to happen first, even if this thread has to wait.
        let outbox = try Outbox(.quick(settle: .seconds(10)))
        try await outbox.start()
        try outbox.makeDirectory("a")
        try outbox.write("a/f")
        try await outbox.sees("seen a/f")
        #expect(rename(outbox.path("a"), outbox.path("z")) == 0)
        try await outbox.sees("ready z/f")
        #expect(!outbox.story.contains("ready a/f"))
    }

    @Test func `a directory renamed again and again loses no file`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        try outbox.makeDirectory("d0/in")
        for index in 0..<300 {
            try outbox.write("d\(index)/in/f\(index)", "x")
            #expect(rename(outbox.path("d\(index)"), outbox.path("d\(index + 1)")) == 0)
        }
        try outbox.write("d300/in/last")
        try await outbox.sees("ready d300/in/last")
        let names = Set((0..<300).map { "f\($0)" } + ["last"])
        try await Poll.until("every file is ready", timeout: .seconds(120)) {
            let ready = outbox.events.compactMap { event -> String? in
                if case .ready(let path, _) = event { String(decoding: path.name, as: UTF8.self) } else { nil }
            }
            return Set(ready) == names
        }
    }

    @Test func `exchanged directories are watched under their new names`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        for name in ["a", "b"] {
            try outbox.makeDirectory("\(name)/in")
            try outbox.write("\(name)/in/f")
            try await outbox.sees("ready \(name)/in/f")
        }
        #expect(exchange(outbox.path("a"), outbox.path("b")) == 0)
        _ = try await outbox.rescan()
        for name in ["a", "b"] {
            try outbox.write("\(name)/in/g")
            try await outbox.sees("ready \(name)/in/g")
        }
    }

    @Test func `a directory moved out is gone and not watched any more`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        try outbox.makeDirectory("a/b")
        try outbox.write("a/b/f")
        try await outbox.sees("ready a/b/f")
        #expect(rename(outbox.path("a"), outbox.directory.path("out")) == 0)
        try await outbox.sees("gone a")
        try Data("x".utf8).write(to: URL(filePath: outbox.directory.path("out/b/g")))
        try outbox.write("marker")
        try await outbox.sees("ready marker")
        #expect(!outbox.story.contains("seen a/b/g"))
    }

    @Test func `a removed tree is gone, and one made anew is found`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        for round in 1...20 {
            try outbox.makeDirectory("a/b")
            try outbox.write("a/b/f")
            try await outbox.sees("ready a/b/f", times: round)
            try FileManager.default.removeItem(atPath: outbox.path("a"))
        }
        try await outbox.sees("gone a", times: 20)
    }

    @Test func `a directory replaced by a file is gone and the file is taken`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        for _ in 0..<50 {
            try outbox.makeDirectory("a")
            #expect(rmdir(outbox.path("a")) == 0)
        }
        try outbox.write("a")
        try await outbox.sees("ready a")
        #expect(try await outbox.rescan().directories == 1)
    }

    @Test func `an ignored directory is not looked into`() async throws {
        let outbox = try Outbox(.quick(isIgnored: { path, isDirectory in isDirectory && path.description == "skip" }))
        try outbox.makeDirectory("skip/deep")
        try outbox.write("skip/deep/f")
        try await outbox.start()
        try outbox.write("skip/g")
        try outbox.write("marker")
        try await outbox.sees("ready marker")
        #expect(!outbox.story.contains { $0.contains("skip") })
    }

    @Test func `a tree of 300 levels is scanned`() async throws {
        let outbox = try Outbox()
        let path = Array(repeating: "d", count: 300).joined(separator: "/")
        try outbox.makeDirectory(path)
        try outbox.write(path + "/f")
        try await outbox.start()
        let summary = try await outbox.rescan()
        #expect(summary.directories == 301)
        #expect(summary.contains(try relative(path + "/f")))
    }
}
