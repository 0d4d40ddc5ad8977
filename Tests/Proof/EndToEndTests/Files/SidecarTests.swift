import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("The sidecar", .agents)
struct SidecarTests {
    @Test("has exactly the keys, types and nulls of contract 3, times in UTC in order, and ends with a newline")
    func shape() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("trip/beach.jpg", .jpeg, size: 1_300_000)
        let sidecar = try await agent.reached("trip/beach.jpg", .done)

        let data = try #require(FileManager.default.contents(atPath: agent.path("trip/beach.jpg.outbox.json")))
        #expect(data.last == UInt8(ascii: "\n"))
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(Sidecar.keys.subtracting(object.keys) == [], "keys that are missing")
        for absent in ["duration", "next_attempt_at", "error"] {
            #expect(object[absent] is NSNull, "\(absent) is null where there is none")
        }
        #expect(object["path_bytes"] == nil)
        #expect(sidecar.version == 1)
        #expect(sidecar.path == "trip/beach.jpg")
        #expect(sidecar.key == key)
        #expect(sidecar.progress == 1)
        #expect(sidecar.remote?.protocol == "filesection")
        #expect(sidecar.remote?.id == server.store.uploads.keys.first)
        #expect(sidecar.remote?.url == sidecar.remote?.id.map { "http://127.0.0.1/f/\($0)" })
        #expect(!sidecar.deduplicated)
        #expect(sidecar.attempts >= 1)
        if let width = sidecar.width { #expect(width == 640) }
        if let height = sidecar.height { #expect(height == 480) }

        let texts = [sidecar.accepted_at, sidecar.started_at, sidecar.finished_at, sidecar.updated_at]
        for text in texts {
            let text = try #require(text)
            #expect(text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil, "\(text)")
        }
        let dates = texts.compactMap(Sidecar.date)
        #expect(dates.count == 4)
        #expect(dates == dates.sorted())
    }

    @Test("shows growing progress, which stays below 1 until the upload is done")
    func progress() async throws {
        let server = try FaultServer()
        server.hold(after: 3)
        let agent = try Agent(remote: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        try agent.drop("a.mp4", .mp4, size: 30 * 524_288)
        var seen: [Sidecar] = []

        try await Poll.until("the upload's end", lastState: { agent.log }) {
            if let sidecar = try agent.sidecar("a.mp4"), sidecar != seen.last { seen.append(sidecar) }
            // Three more fragments for each progress that was shown, then the rest.
            let shown = Set(seen.filter { $0.state == .uploading }.map(\.progress)).count
            server.hold(after: shown < 3 ? 3 * (shown + 1) : .max)
            return seen.last?.state == .done
        }

        let underway = seen.filter { $0.state == .uploading }
        #expect(underway.count >= 2, "progress was shown")
        #expect(seen.filter { $0.state != .done }.allSatisfy { $0.progress < 1 })
        #expect(seen.map(\.progress) == seen.map(\.progress).sorted())
        // A path without remaining fragments may already be verifying when the agent writes the last progress.
        for sidecar in underway { #expect(sidecar.fragments?.total == 30) }
    }

    @Test("is written again after it was deleted while no agent ran, and nothing is sent again")
    func notTruth() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.media_only": false])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)
        try await agent.stop()
        agent.remove("a.jpg.outbox.json")

        try await agent.start()

        let sidecar = try await agent.reached("a.jpg", .done)
        #expect(sidecar.key == key)
        expectClean(server, finished: [key])
        #expect(server.count(.preLoad) == 1, "neither the file nor a sidecar was sent again")
    }
}
