import Testing

@testable import Ledger

@Suite("Check of the ledger at the start")
struct LedgerCheckTests {
    private let large = LedgerCheck.smallFile + 1

    private func check(
        _ phase: LedgerMark.Phase?, crashes: Int = 0, boot: String = "now", size: UInt64? = nil
    ) -> LedgerCheck {
        let mark = phase.map { LedgerMark(phase: $0, crashes: 0, boot: boot) }
        return LedgerCheck(after: mark, crashes: crashes, boot: "now", size: size ?? large)
    }

    @Test("a small ledger is always checked")
    func small() {
        for phase in [.closed, .running, .opening, .crashed, nil] as [LedgerMark.Phase?] {
            #expect(check(phase, crashes: 1, size: 4096) == .inspect)
        }
    }

    @Test("a large ledger is not checked after a clean end or a kill")
    func afterAKill() {
        #expect(check(.closed) == .none)
        #expect(check(.running) == .none)
    }

    @Test("a large ledger is checked after a crash, a death while opening, a sudden reboot or an unknown end")
    func afterACrash() {
        #expect(check(.crashed, crashes: 1) == .inspect)
        #expect(check(.opening, crashes: 1) == .inspect)
        #expect(check(.running, boot: "before") == .inspect)
        #expect(check(nil) == .inspect)
    }

    @Test("a ledger that looks sound is rebuilt after three crashes in a row, and not at each later crash")
    func crashLoop() {
        let checks = (1...6).map { check(.crashed, crashes: $0) }
        #expect(checks.map { $0 == .inspect } == [true, true, false, true, true, false])
    }

    @Test("a ledger that LMDB reported as broken is rebuilt")
    func suspect() {
        guard case .rebuild = check(.suspect, size: 0) else {
            Issue.record("it is not")
            return
        }
    }

    @Test("a mark survives writing and reading, also with a crash written over it")
    func line() {
        let mark = LedgerMark(phase: .running, crashes: 2, boot: "6f1c")
        #expect(LedgerMark(line: mark.line) == mark)
        let crashed = "crashed " + mark.line.dropFirst(8)
        #expect(LedgerMark(line: crashed) == LedgerMark(phase: .crashed, crashes: 2, boot: "6f1c"))
    }

    @Test(
        "other text is no mark",
        arguments: ["", "\n", "running", "running 1", "dancing 1 x", "running -1 x", "\u{0}"])
    func senseless(_ line: String) {
        #expect(LedgerMark(line: line) == nil)
    }
}
