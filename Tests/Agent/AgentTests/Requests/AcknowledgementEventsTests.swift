import Ledger
import TestSupport
import Testing

@testable import Agent
@testable import UploadCore

@Suite("Logged acknowledgements")
struct AcknowledgementEventsTests {
    private let place: TemporaryDirectory
    private let log: AcknowledgementLog
    private let key = ContentKey(high: 1, low: 1)
    private let page: LedgerWrite

    init() throws {
        place = try TemporaryDirectory()
        log = try AcknowledgementLog(path: place.path("acknowledged"))
        page = .fragments(key, FragmentPage(of: 0, in: FragmentSet(prefix: 1), receipts: [:]))
    }

    private func acknowledged(_ fragment: Int, receipt: String? = nil) -> MachineEvent {
        .acknowledged(1, key, fragment: fragment, receipt: receipt, took: .seconds(1))
    }

    private func append(_ events: [MachineEvent], _ writes: [LedgerWrite]) -> Bool {
        log.append(events, writes) { key in
            guard key == self.key else { return nil }
            return UploadRecord(
                key: key, seal: ContentSeal(size: 800_000, digest: 1), plan: FragmentPlan(size: 800_000),
                scope: RemoteScope("s"), order: 1)
        }
    }

    @Test("hold the fragments of a decision about nothing else")
    func logged() throws {
        #expect(append([acknowledged(0), acknowledged(1)], [page]))
        #expect(try log.entries().map(\.fragment) == [0, 1])
    }

    @Test("hold no decision that concerns anything else")
    func others() throws {
        let unknown = MachineEvent.acknowledged(
            1, ContentKey(high: 2, low: 2), fragment: 0, receipt: nil, took: .seconds(1))
        let table: [([MachineEvent], [LedgerWrite])] = [
            ([], [page]), ([acknowledged(0)], []), ([acknowledged(0), .tick], [page]),
            ([acknowledged(0)], [page, .forgetUpload(key)]), ([acknowledged(0, receipt: "tag")], [page]),
            ([unknown], [page]),
        ]
        for (events, writes) in table { #expect(!append(events, writes), "\(events)") }
        #expect(try log.entries() == [])
    }
}
