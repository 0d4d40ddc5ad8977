import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// The receiver's own page, its quotas and its monitoring, through the eyes of curl.
@Suite("The receiver's owner")
struct ReceiverOwnerTests {
    /// Two users and their token file.
    private struct Family {
        let receiver: Receiver
        let tokens: String

        init() async throws {
            receiver = try Receiver()
            tokens = receiver.directory.path("tokens")
            try write("anna-token anna quota=64KiB\nben-token ben quota=10KiB\n")
            receiver.options = ["--token-file", tokens]
            try await receiver.start()
        }

        func write(_ lines: String) throws {
            try Files.write(Array(lines.utf8), to: tokens)
            chmod(tokens, 0o600)
        }

        /// Uploads a file of one block and returns the status of its announcement.
        @discardableResult
        func upload(_ content: [UInt8], name: String, token: String) async throws -> Int {
            let client = try ReceiverClient(port: receiver.port)
            let (id, status) = try client.preLoad(content, name: name, token: token)
            guard let id else { return status }
            let head = "--b\r\nContent-Disposition: form-data; name=\"sectionFile\"; filename=\"x\"\r\n\r\n"
            let body = Array(head.utf8) + content + Array("\r\n--b--\r\n".utf8)
            let file = receiver.directory.path("body")
            try Files.write(body, to: file)
            let block = "[{\"id\":\"\(id)\",\"totalSize\":\(content.count),\"blockTotal\":1,\"blockNo\":1}]"
            let reply = try await curl(
                "/fileSection/upload.do",
                [
                    "-H", "Authorization: Bearer \(token)", "-H", "file_block: \(block)", "-H",
                    "Content-Type: multipart/form-data; boundary=b", "--data-binary", "@\(file)",
                ])
            #expect(reply.status == 200)
            return status
        }

        /// Sends a request with the cookies of one browser.
        func curl(
            _ path: String, _ arguments: [String] = [], browser: String = "none"
        ) async throws -> (status: Int, text: String) {
            let jar = receiver.directory.path("\(browser).cookies")
            let output = try await Program.run(
                "/usr/bin/curl",
                ["-sS", "-b", jar, "-c", jar, "-w", "\n%{http_code}"] + arguments + [receiver.url + path],
                environment: [:], directory: "/tmp")
            #expect(output.code == 0, "\(output)")
            let lines = output.standardOutput.split(separator: "\n", omittingEmptySubsequences: false)
            return (lines.last.flatMap { Int($0) } ?? 0, lines.dropLast().joined(separator: "\n"))
        }

        func signIn(_ token: String, browser: String) async throws -> Int {
            try await curl(
                "/sign-in", ["--data-urlencode", "token=\(token)", "-H", "Origin: \(receiver.url)"], browser: browser
            ).status
        }
    }

    @Test("who signs in sees their own files, until they sign out or their token is removed")
    func page() async throws {
        let family = try await Family()
        try await family.upload([1, 2, 3], name: "beach.jpg", token: "anna-token")
        try await family.upload([4, 5, 6], name: "garden.jpg", token: "ben-token")
        let stranger = try await family.curl("/")
        #expect(stranger.status == 200)
        #expect(!stranger.text.contains("anna") && !stranger.text.contains(".jpg"))

        #expect(try await family.signIn("anna-tokem", browser: "anna") == 401)
        #expect(try await family.signIn("anna-token", browser: "anna") == 303)
        #expect(try await family.signIn("ben-token", browser: "ben") == 303)
        let jar = String(
            decoding: FileManager.default.contents(atPath: family.receiver.directory.path("anna.cookies")) ?? Data(),
            as: UTF8.self)
        #expect(jar.contains("#HttpOnly_127.0.0.1") && !jar.contains("anna-token"))
        try await Poll.until("the file to be on the page") {
            try await family.curl("/", browser: "anna").text.contains("beach.jpg")
        }
        let page = try await family.curl("/", browser: "anna").text
        #expect(!page.contains("garden.jpg") && !page.contains("ben"))

        #expect(try await family.curl("/sign-out", ["-X", "POST"], browser: "anna").status == 303)
        #expect(try await !family.curl("/", browser: "anna").text.contains("beach.jpg"))

        try await Poll.until("Ben's file to be on his page") {
            try await family.curl("/", browser: "ben").text.contains("garden.jpg")
        }
        try family.write("anna-token anna\n")
        try await Poll.until("the session to end with its token") {
            try await !family.curl("/", browser: "ben").text.contains("garden.jpg")
        }
    }

    @Test("each user has a quota of their own, which the page shows and a changed file changes")
    func quota() async throws {
        let family = try await Family()
        #expect(try await family.upload([UInt8](repeating: 1, count: 600), name: "a.jpg", token: "ben-token") == 200)
        #expect(try await family.upload([UInt8](repeating: 2, count: 600), name: "b.jpg", token: "ben-token") == 507)
        #expect(try await family.upload([UInt8](repeating: 2, count: 600), name: "b.jpg", token: "anna-token") == 200)
        #expect(try await family.signIn("ben-token", browser: "ben") == 303)
        #expect(try await family.curl("/", browser: "ben").text.contains("5.1 kB of 10 kB used"))

        try family.write("anna-token anna\nben-token ben quota=lots\n")
        let client = try ReceiverClient(port: family.receiver.port)
        try await Poll.until("the log to name the line") {
            _ = try client.preLoad([1], name: "c.jpg", token: "nobody")
            return family.receiver.log.contains { $0.contains("line 2: cannot read") && $0.contains("quota=lots") }
        }
        #expect(try client.preLoad([UInt8](repeating: 2, count: 600), name: "b.jpg", token: "ben-token").status == 507)
        try family.write("anna-token anna\nben-token ben quota=none\n")
        try await Poll.until("the new quota") {
            try client.preLoad([UInt8](repeating: 2, count: 600), name: "b.jpg", token: "ben-token").status == 200
        }
    }

    @Test("/health answers 503 while the journal cannot be written, and 200 after the next upload")
    func health() async throws {
        let receiver = try Receiver()
        let board = try FaultBoard(in: receiver.directory.path)
        receiver.environment.merge(
            board.environment([.init(.inputOutputError, ["write"], calls: 1...1_000_000, of: "*/root*")])
        ) { $1 }
        try await receiver.start()
        let client = try ReceiverClient(port: receiver.port)
        #expect(receiver.get("/health")?.status == 200)
        board.failing = true
        #expect(try client.preLoad([1], name: "a.jpg").status == 500)
        let reply = try #require(receiver.get("/health"))
        #expect(reply.status == 503)
        #expect(String(decoding: reply.body, as: UTF8.self).contains("the storage has failed"))
        board.failing = false
        #expect(try client.preLoad([1], name: "a.jpg").status == 200)
        #expect(receiver.get("/health")?.status == 200)
    }

    @Test("/metrics needs a token of its own, and has the quota of each user")
    func metrics() async throws {
        let family = try await Family()
        try await family.upload([UInt8](repeating: 1, count: 600), name: "a.jpg", token: "ben-token")
        #expect(try await family.curl("/metrics", ["-H", "Authorization: Bearer ben-token"]).status == 404)

        let tokens = family.receiver.directory.path("metrics-tokens")
        try Files.write(Array("m prometheus\n".utf8), to: tokens)
        try await family.receiver.kill()
        family.receiver.options += ["--metrics-token-file", tokens]
        try await family.receiver.start()
        #expect(try await family.curl("/metrics").status == 401)
        let reply = try await family.curl("/metrics", ["-H", "Authorization: Bearer m"])
        #expect(reply.status == 200)
        #expect(reply.text.contains("\noutbox_receiver_user_used_bytes{user=\"ben\"} 5120\n"), "\(reply.text)")
        #expect(reply.text.contains("\noutbox_receiver_user_quota_bytes{user=\"ben\"} 10240\n"))
        #expect(reply.text.contains("\noutbox_receiver_refusals_total{status=\"401\"} 1\n"))
    }
}
