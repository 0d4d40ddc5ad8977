import Foundation
import Testing

@testable import OutboxReceiver

@Suite struct MonitoringTests {
    private static func metrics(_ server: TestServer, token: String? = nil) throws -> String {
        let reply = try server.get("/metrics", token.map { ["Authorization": "Bearer \($0)"] } ?? [:])
        #expect(reply.status == 200)
        #expect(reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        return String(decoding: reply.body, as: UTF8.self)
    }

    @Test func aReceiverThatTakesUploadsIsHealthy() async throws {
        try await TestServer.run { server in
            let reply = try server.get("/health")
            #expect(reply.status == 200)
            #expect(reply.json["status"] as? String == "ok")
            #expect((reply.data["freeBytes"] as? Int).map { $0 > 0 } == true)
            #expect(reply.data["floorBytes"] as? Int == 512 << 20)
        }
    }

    @Test func aFullDiskIsNotHealthy() async throws {
        try await TestServer.run(configure: { $0.freeSpaceFloor = 1 << 60 }) { server in
            let reply = try server.get("/health")
            #expect(reply.status == 503)
            #expect(reply.json["status"] as? String == "failed")
            #expect(reply.json["message"] as? String == "the disk is full")
            #expect(try Self.metrics(server).contains("\noutbox_receiver_healthy 0\n"))
        }
    }

    /// A kernel that loses its disk makes the file system read-only under open files; mount(8) refuses to do that. So
    /// this asks for a folder that was read-only from the start.
    @Test func aReadOnlyFileSystemIsNotHealthy() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "disk-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try !Folder.root(at: path).isReadOnly())
        let (holder, lines, end) = (Process(), Pipe(), Pipe())
        holder.executableURL = URL(filePath: "/usr/bin/unshare")
        let mount = "mount -t tmpfs -o ro tmpfs \"$1\" && echo mounted && exec cat"
        holder.arguments = ["-rm", "sh", "-c", mount, "sh", path]
        (holder.standardOutput, holder.standardInput) = (lines, end)
        try holder.run()
        defer {
            try? end.fileHandleForWriting.close()
            holder.waitUntilExit()
        }
        guard !lines.fileHandleForReading.availableData.isEmpty else {
            return print("skipped: unshare -rm and mount are not permitted here")
        }
        #expect(try Folder.root(at: "/proc/\(holder.processIdentifier)/root\(path)").isReadOnly())
    }

    @Test func strangersDoNotLearnTheFreeSpace() async throws {
        try await TestServer.run(configure: { $0.tokens = "t anna" }) { server in
            let reply = try server.get("/health")
            #expect(reply.status == 200)
            #expect(reply.data.isEmpty)
        }
    }

    @Test func metricsCountUploadsAndRefusals() async throws {
        try await TestServer.run(configure: { $0.quota = 50_000 }) { server in
            try server.upload(TestServer.content(1000))
            _ = try server.preLoad(TestServer.content(2000, seed: 2))
            #expect(try server.get("/nothing").status == 404)
            let text = try Self.metrics(server)
            for line in [
                "fragments_total 1", "fragment_bytes_total 1000", "files_total 1", "file_bytes_total 1000",
                "refusals_total{status=\"404\"} 1", "healthy 1", "open_uploads 1", "user_files{user=\"local\"} 1",
                "user_used_bytes{user=\"local\"} 11309", "user_quota_bytes{user=\"local\"} 50000",
            ] {
                #expect(text.contains("\noutbox_receiver_\(line)\n"), "\(line)\n\(text)")
            }
            for line in text.split(separator: "\n") {
                let sample = /# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"\})? \d+/
                #expect(line.wholeMatch(of: sample) != nil, "\(line)")
            }
        }
    }

    @Test func onlyATokenForMetricsReadsThem() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "tokens-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("m prometheus\n".utf8).write(to: URL(filePath: path))
        try await TestServer.run(configure: { ($0.tokens, $0.metricsTokenFile) = ("t anna", path) }) { server in
            let stranger = try server.get("/metrics")
            #expect(stranger.status == 401)
            #expect(try server.get("/metrics", ["Authorization": "Bearer t"]).status == 401)
            #expect(try Self.metrics(server, token: "m").contains("outbox_receiver_files_total 0"))
            #expect(try server.isFinish([], token: "m").status == 401, "this token uploads nothing")
        }
        // The unit of the package passes such a file until there is one with tokens.
        try Data("#".utf8).write(to: URL(filePath: path))
        try await TestServer.run(configure: { ($0.tokens, $0.metricsTokenFile) = ("t anna", path) }) { server in
            let reply = try server.get("/metrics", ["Authorization": "Bearer m"])
            #expect(reply.status == 401)
        }
    }

    @Test func withoutATokenForMetricsThereAreNone() async throws {
        try await TestServer.run(configure: { $0.tokens = "t anna" }) { server in
            let stranger = try server.get("/metrics")
            #expect(stranger.status == 404)
            #expect(try server.get("/metrics", ["Authorization": "Bearer t"]).status == 404)
        }
    }
}
