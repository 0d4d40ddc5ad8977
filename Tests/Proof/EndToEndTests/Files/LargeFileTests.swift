import EndToEndSupport
import TestSupport
import Testing

/// The trial R18 does the same with 1 TiB.
@Suite("A large file")
struct LargeFileTests {
    @Test("uploads in a few MiB more than an idle agent has", .busy)
    func memory() async throws {
        let size = 1 << 30
        let server = try FaultServer(keepsContent: false)
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let idle = try #require(agent.program?.peakResidentBytes)
        try SampleMedia.mp4.writeSparse(to: agent.path("large.mp4"), size: size)

        var peak = 0
        try await Poll.until(
            "the large file", timeout: .seconds(400), every: .milliseconds(100),
            lastState: { agent.log }
        ) {
            peak = max(peak, agent.program?.peakResidentBytes ?? 0)
            return try agent.sidecar("large.mp4")?.state == .done
        }

        print("large file: \(size >> 30) GiB, peak resident \(peak >> 20) MiB, idle \(idle >> 20) MiB")
        #expect(peak - idle <= 40 << 20)
        let store = server.store
        #expect(store.arrivedBytes == size)
        #expect(store.repeated == 0)
        #expect(store.violations == [])
        #expect(store.finished.count == 1)
    }

    @Test("shows how much of it is hashed", .busy)
    func hashing() async throws {
        let size = 8 << 30
        let server = try FaultServer(keepsContent: false)
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try SampleMedia.mp4.writeSparse(to: agent.path("large.mp4"), size: size)
        let hashed = try await Poll.value("a part of it to be hashed", lastState: { agent.log }) {
            try agent.sidecar("large.mp4").flatMap { $0.state == .hashing ? $0.hashed : nil }
                .flatMap { $0 > 256 << 20 ? $0 : nil }
        }
        #expect(hashed < size)
        let status = try await agent.command("status").standardOutput
        #expect(status.contains("hashing"), "\(status)")
    }

    @Test("does not starve small files, and small files do not starve it", .agents)
    func fairness() async throws {
        let server = try FaultServer(uploadDelay: .milliseconds(30))
        let agent = try Agent(remote: server.url, ["upload.files_in_flight": 2, "upload.fragments_in_flight": 1])
        try await agent.start()
        // All files exist before the first upload begins, however long the drops take.
        #expect(try await agent.command("pause", "--all").code == 0)
        try agent.drop("large.mp4", .mp4, size: 120 * 524_288)
        try await agent.reached("large.mp4", .paused)
        let small = (0..<10).map { "\($0).jpg" }
        for (index, name) in small.enumerated() { try agent.drop(name, .jpeg, size: 2000 + index) }
        for name in small { try await agent.reached(name, .paused) }
        #expect(try await agent.command("resume", "--all").code == 0)

        for name in small + ["large.mp4"] { try await agent.reached(name, .done) }
        let sent = server.records.filter { $0.endpoint == .upload }.flatMap(\.files).map(\.name)
        let lastSmall = try #require(sent.lastIndex { $0 != "large.mp4" })
        let firstLarge = try #require(sent.firstIndex(of: "large.mp4"))
        let lastLarge = try #require(sent.lastIndex(of: "large.mp4"))
        #expect(firstLarge < lastSmall && lastSmall < lastLarge, "\(sent)")
        #expect(server.finished.count == 11)
    }
}
