import Testing
import UploadCore

@Suite("Sums of outcomes")
struct OutcomeSumsTests {
    private func row(_ outcome: JournalRow.Outcome, size: UInt64, sent: UInt64? = nil) -> JournalRow {
        var row = JournalRow(time: WallTime(milliseconds: 7), subject: .file, outcome: outcome, path: .root)
        row.size = size
        row.sent = sent.map { JournalRow.Sent(key: ContentKey(high: 1, low: 1), size: $0, type: "") }
        return row
    }

    @Test("count files and bytes by day, and what need not be sent")
    func days() {
        var sums = OutcomeSums()
        var known = row(.done, size: 50, sent: 20)
        known.isDeduplicated = true
        let idle = JournalRow(time: WallTime(milliseconds: 1), subject: .agent, outcome: .idle, path: .root)
        let post = JournalRow(time: WallTime(milliseconds: 1), subject: .post, outcome: .done, path: .root)
        let rows: [(JournalRow, Int)] = [
            (idle, 1), (post, 1), (row(.done, size: 100), 1), (row(.done, size: 100, sent: 30), 2), (known, 2),
            (row(.failed, size: 9), 2), (row(.cancelled, size: 9), 2), (row(.done, size: 5, sent: 8), 3),
        ]
        for (index, (row, day)) in rows.enumerated() {
            sums.add(JournalEntry(number: UInt64(index) + 1, row: row), day: day)
        }
        #expect(sums.last == 8 && sums.since == WallTime(milliseconds: 7))
        let two = sums.sum(from: 2)
        #expect(two.done == 3 && two.size == 155 && two.failed == 1)
        #expect(two.savedByProducts == 100 && two.savedByDeduplication == 20)
        #expect(sums.sum().done == 4 && sums.sum(from: 4).done == 0)
    }
}
