import AgentConfiguration
import AgentTestSupport
import Foundation
import Ledger
import Reports
import Synchronization
import TestSupport
import Testing
import Transport
import UploadCore

@testable import Hooks

@Suite("Hook desk")
struct HookDeskTests {
    /// The receiver of a web hook, which the test takes away and brings back.
    private final class Receiver: HTTPTransport {
        struct State {
            var isAway = false
            var attempts = 0
            /// The outcomes of each delivered call.
            var calls: [[String]] = []
        }

        let state = Mutex(State())

        func send(_ request: TransportRequest) async throws(TransportError) -> HTTPReply {
            var outcomes: [String] = []
            if case .bytes(let body) = request.body,
                let list = try? JSONSerialization.jsonObject(with: Data(body)) as? [[String: Any]]
            {
                outcomes = list.compactMap { $0["id"] as? String }
            }
            let isAway = state.withLock { [outcomes] state in
                state.attempts += 1
                if !state.isAway { state.calls.append(outcomes) }
                return state.isAway
            }
            if isAway { throw .connect("refused") }
            return HTTPReply(status: 204)
        }
    }

    @Test("a receiver that was away for an hour gets every outcome once, in order, in as few calls as the batch allows")
    func hour() async throws {
        let place = try TemporaryDirectory()
        let log = RecordedLog()
        let ledger = try Ledger(directory: place.path("state"), logger: log.logger, onTrouble: { _ in })
        let (clock, receiver) = (HandClock(), Receiver())
        var hook = Configuration.Hook(name: "publish", call: .post("http://127.0.0.1/in", secretFile: nil))
        (hook.batch, hook.window) = (500, .seconds(10))
        let desk = try HookDesk(
            [hook], ledger: ledger, transport: receiver, environment: [:], ceiling: .seconds(120), clock: clock,
            logger: log.logger)
        var number: UInt64 = 0
        func end(_ count: Int) async throws {
            let rows = try (0..<count).map { index in
                let path = try #require(RelativePath("\(index).jpg"))
                return JournalRow(time: clock.now.wall, subject: .file, outcome: .done, path: path)
            }
            await ledger.commit(
                rows.map { row in
                    number += 1
                    return .outcome(JournalEntry(number: number, row: row))
                })
            desk.wake()
        }
        func reach(_ what: String, _ isReached: @escaping @Sendable (Receiver.State) -> Bool) async throws {
            try await Poll.until(what) {
                clock.advance(by: .seconds(10))
                desk.wake()
                return isReached(receiver.state.withLock(\.self))
            }
        }
        try await end(3)
        try await reach("the first call") { $0.calls.count == 1 }

        receiver.state.withLock { $0.isAway = true }
        let began = clock.now.monotonic
        for minute in 1...62 {
            try await end(20)
            let known = receiver.state.withLock(\.attempts)
            // The pauses grow to 120 s, more or less.
            clock.advance(by: .seconds(60))
            desk.wake()
            if minute == 1 || minute.isMultiple(of: 10) { try await reach("another attempt") { $0.attempts > known } }
        }
        #expect(clock.now.monotonic - began >= .seconds(3600))
        let status = try #require(desk.statuses.first)
        #expect(status.waiting == 1240 && status.failures >= 6 && status.error?.contains("refused") == true)
        #expect(desk.trouble?.contains("has failed for over an hour") == true)
        #expect(desk.firstNeeded == 4)

        receiver.state.withLock { $0.isAway = false }
        try await reach("the rest") { $0.calls.count == 4 }
        let calls = receiver.state.withLock(\.calls)
        #expect(calls.map(\.count) == [3, 500, 500, 240])
        let id = try ledger.journalID()
        #expect(calls.flatMap(\.self) == (1...1243).map { "\(id)-\($0)" })
        try await Poll.until("the position") { desk.firstNeeded == 1244 }
        #expect(desk.trouble == nil)
    }
}
