import AgentTestSupport
import ControlAPI
import Foundation
import LinuxSystem
import Reports
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Agent

@Suite("Uploader: queries")
struct QueryTests {
    private final class Search: Sendable {
        let gate = DispatchSemaphore(value: 0)
        let isOver = Atomic<Bool>(false)
    }

    @Test("counts and lists do not wait for a search through the outbox")
    func search() async throws {
        let bench = try await Bench()
        try await bench.drop("a.jpg", content(1))
        try await bench.ends("a.jpg", .done)
        let search = Search()
        bench.uploader.reader.run {
            _ = search.gate.wait(timeout: .now() + 60)
            search.isOver.store(true, ordering: .relaxed)
        }
        #expect(await bench.backend.health().files == ["done": 1])
        let listing = await bench.backend.files(ListQuery(atMost: 1))
        #expect(listing.reports.map(\.path) == [try bench.path("a.jpg")])
        #expect(listing.counts == [.done: 1])
        let isOver = search.isOver.load(ordering: .relaxed)
        #expect(!isOver)
        search.gate.signal()
    }
}
