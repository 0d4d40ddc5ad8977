import Foundation
import TestSupport
import Testing

@testable import Ledger

@Suite("Traces of an earlier ledger")
struct LedgerTracesTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func put(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: directory.path(name)))
    }

    private var traces: LedgerTraces { LedgerTraces(state: directory.path) }

    @Test("an empty state directory had no ledger")
    func empty() { #expect(!traces.isLost && !traces.hasLedger) }

    @Test("a start that died before creating a ledger proves nothing", arguments: ["opening  0 boot\n", "garbage", ""])
    func firstStart(_ mark: String) throws {
        try put("ledger-mark", mark)
        #expect(!traces.isLost)
    }

    @Test(
        "other files of a run prove an earlier ledger",
        arguments: [["ledger-mark", "running  0 boot\n"], ["acknowledged", ""], ["paused", ""]])
    func proof(_ file: [String]) throws {
        try put(file[0], file[1])
        #expect(traces.isLost && traces.proofs == [file[0]])
        try put("ledger.lmdb", "")
        #expect(traces.isLost)
        try put("ledger.lmdb", "bytes")
        #expect(!traces.isLost)
    }
}
