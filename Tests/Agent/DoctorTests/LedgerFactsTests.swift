import Foundation
import TestSupport
import Testing

@testable import Doctor

@Suite("Doctor's findings on the ledger")
struct LedgerFactsTests {
    @Test("a missing ledger is a warning, and damaged ledgers moved aside are named")
    func findings() throws {
        let directory = try TemporaryDirectory()
        #expect(LedgerFacts(probing: directory.path).findings.isEmpty)
        for (name, text) in [("acknowledged", ""), ("ledger.lmdb.damaged-20261121T093000Z", "")] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: directory.path(name)))
        }
        let findings = LedgerFacts(probing: directory.path).findings
        #expect(findings.map(\.level) == [.warning, .note])
        #expect(findings.allSatisfy { $0.remedy != nil })
    }
}
