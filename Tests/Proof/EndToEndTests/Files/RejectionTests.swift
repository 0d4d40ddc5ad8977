import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Rejected files", .agents)
struct RejectionTests {
    /// Directory entries that cannot be uploaded.
    enum Obstacle: String, CaseIterable {
        case fifo, socket, deviceNode, symlinkToFile, symlinkToDirectory, danglingSymlink, emptyFile, tooLarge
        case textNamedJpg, drawing

        /// The code in the sidecar.
        var code: String {
            switch self {
            case .fifo, .socket, .deviceNode: "not_regular_file"
            case .symlinkToFile, .symlinkToDirectory, .danglingSymlink: "symlink"
            case .emptyFile: "empty"
            case .tooLarge: "too_large"
            case .textNamedJpg, .drawing: "unsupported_type"
            }
        }

        /// Creates the obstacle. Returns a descriptor that must stay open, or -1.
        func make(at path: String, outside: String) throws -> Int32 {
            switch self {
            case .fifo: #expect(mkfifo(path, 0o644) == 0)
            case .socket: return ControlSocket.listen(at: path)
            case .deviceNode: #expect(mknod(path, S_IFCHR | 0o644, 0x0103) == 0)
            case .symlinkToFile:
                try SampleMedia.jpeg.write(to: outside, size: 2000, seed: 1)
                #expect(symlink(outside, path) == 0)
            case .symlinkToDirectory:
                try Files.makeDirectory(outside)
                try SampleMedia.jpeg.write(to: "\(outside)/inner.jpg", size: 2000, seed: 1)
                #expect(symlink(outside, path) == 0)
            case .danglingSymlink: #expect(symlink("/nowhere/at/all", path) == 0)
            case .emptyFile: try Files.write([], to: path)
            case .tooLarge: try SampleMedia.jpeg.write(to: path, size: 70_000, seed: 1)
            case .textNamedJpg: try Files.write(Array("These are words, no picture.\n".utf8), to: path)
            case .drawing: try Files.write(Array("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".utf8), to: path)
            }
            return -1
        }
    }

    @Test("get a sidecar with the reason, and other files are uploaded", arguments: [true, false])
    func rejected(before start: Bool) async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.max_file_size": "64KiB"])
        if !start { try await agent.start() }
        let obstacles = Obstacle.allCases.filter { $0 != .deviceNode || getuid() == 0 }
        let kept = try obstacles.map { obstacle in
            let outside = agent.directory.path("outside-\(obstacle.rawValue)")
            return try obstacle.make(at: agent.path("\(obstacle.rawValue).jpg"), outside: outside)
        }
        defer { for descriptor in kept where descriptor >= 0 { close(descriptor) } }
        let key = try agent.drop("good.jpg", .jpeg, size: 4000)
        if start { try await agent.start() }

        for obstacle in obstacles {
            let sidecar = try await agent.reached("\(obstacle.rawValue).jpg", .rejected)
            let error = try #require(sidecar.error)
            #expect(error.code == obstacle.code, "\(obstacle)")
            #expect(!error.message.isEmpty)
            #expect(!error.retryable)
            #expect(sidecar.path == "\(obstacle.rawValue).jpg")
        }
        let advice = try agent.sidecar("drawing.jpg")?.error?.message
        #expect(advice?.hasPrefix("SVG pictures are not taken; convert the file") == true, "\(advice ?? "none")")
        try await agent.reached("good.jpg", .done)
        expectClean(server, finished: [key])
    }

    @Test("with media_only = false, any regular file is accepted unless it is empty, and no link")
    func anyFile() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.media_only": false])
        try await agent.start()
        let words = Array("These are words.\n".utf8)
        try agent.drop("words.txt", words)
        try agent.drop("empty.txt", [])
        try Files.write(Array("These words are elsewhere.\n".utf8), to: agent.directory.path("elsewhere.txt"))
        #expect(symlink(agent.directory.path("elsewhere.txt"), agent.path("link.txt")) == 0)
        #expect(mkfifo(agent.path("fifo"), 0o644) == 0)

        #expect(try await agent.reached("words.txt", .done).kind == "other")
        #expect(try await agent.reached("empty.txt", .rejected).error?.code == "empty")
        #expect(try await agent.reached("link.txt", .rejected).error?.code == "symlink")
        #expect(try await agent.reached("fifo", .rejected).error?.code == "not_regular_file")
        expectClean(server, finished: [Digest.md5(words)])
    }

    @Test("files that vanish at once do no harm")
    func vanishing() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        for index in 0..<50 {
            try agent.drop("flash\(index).jpg", .jpeg, size: 3000, seed: UInt64(index))
            agent.remove("flash\(index).jpg")
        }

        let key = try agent.drop("stays.jpg", .jpeg, size: 3000, seed: 99)

        try await agent.reached("stays.jpg", .done)
        #expect(server.finished.contains(key))
        #expect(server.store.violations == [])
        #expect(server.store.mixtures == [])
    }

    @Test("names that the configuration ignores get no sidecar and no upload")
    func ignored() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let names = [".hidden.jpg", "a.part", "a.partial", "a.crdownload", "a.tmp", "a.jpg~", ".dir/inside.jpg"]
        for name in names { try agent.drop(name, .jpeg, size: 3000) }

        let key = try agent.drop("later.jpg", .jpeg, size: 3000)
        try await agent.reached("later.jpg", .done)

        for name in names { #expect(try agent.sidecar(name) == nil, "\(name)") }
        expectClean(server, finished: [key])
    }

    @Test("with sidecars.rejected = false, rejected files get no sidecar")
    func silent() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["sidecars.rejected": false])
        try await agent.start()
        try agent.drop("words.jpg", Array("words".utf8))

        try agent.drop("good.jpg", .jpeg, size: 3000)
        try await agent.reached("good.jpg", .done)

        // The agent removes the first sidecar once it knows the file's type.
        #expect(try await agent.command("wait", "words.jpg").code == 1)
        try await Poll.until("no sidecar", lastState: { agent.log }) { try agent.sidecar("words.jpg") == nil }
    }

    @Test("a rejected file that is overwritten with a picture is accepted")
    func becomesPicture() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("a.jpg", Array("words".utf8))
        try await agent.reached("a.jpg", .rejected)

        let key = try agent.drop("a.jpg", .jpeg, size: 3000)

        try await Poll.until("the picture to be done", lastState: { agent.log }) {
            try agent.sidecar("a.jpg")?.state == .done
        }
        expectClean(server, finished: [key])
    }
}
