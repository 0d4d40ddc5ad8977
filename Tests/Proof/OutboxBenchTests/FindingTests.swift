import Testing

@testable import outbox_bench

@Suite struct FindingTests {
    private func figure(_ value: Double, bar: Double?, name: String = "ratio") -> Finding.Figure {
        Finding.Figure(name: name, value: value, unit: "", bar: bar)
    }

    private func finding(_ measure: String, _ figures: [Finding.Figure]) -> Finding {
        Finding(
            measure: measure, what: "one file", against: "curl", figures: figures, spread: "[0.90–1.10]",
            details: "outbox 2.00 s, curl 2.00 s", count: 5)
    }

    @Test(
        arguments: [
            ([], nil), ([nil], nil), ([1.0], true), ([0.99], false), ([nil, 1.0], true), ([2.0, 0.5], false),
        ] as [([Double?], Bool?)])
    func `a finding is met if each figure with a bar is at most the bar`(bars: [Double?], isMet: Bool?) {
        #expect(finding("P1", bars.map { figure(1, bar: $0) }).isMet == isMet)
    }

    @Test func `a line has figures, spread, details, the measured quantity and the number of pairs`() {
        let line = "P1  ratio 1.00 (bar ≤ 1.20)  [0.90–1.10]  outbox 2.00 s, curl 2.00 s  one file  pairs 5"
        #expect(finding("P1", [figure(1, bar: 1.2)]).text == line)
    }

    @Test func `the table is ordered by measures, and says why one is missing`() {
        let findings = [
            finding("P10", [figure(1, bar: 1.2), figure(3, bar: nil, name: "memory")]),
            finding("P2", [figure(1, bar: 0.33)]),
            .missing("P9", "a long link", "no root"), finding("avatars", []),
        ]
        let rows = Table.lines(findings).map { $0.split(separator: "|").map { $0.trimmed } }
        #expect(rows[0] == ["", "measure", "against", "bar", "met", "seen"])
        #expect(
            rows[2] == ["P2", "one file", "curl", "≤ 0.33", "no", "ratio 1.00 [0.90–1.10], outbox 2.00 s, curl 2.00 s"])
        #expect(rows[3] == ["P9", "a long link", "–", "–", "–", "not measured: no root"])
        #expect(rows[4][3] == "ratio ≤ 1.20")
        #expect(rows[4][5].hasPrefix("ratio 1.00 [0.90–1.10], memory 3.00, outbox"))
        #expect(rows[5][0] == "avatars")
    }
}

@Suite struct SeriesTests {
    private struct Fixed: Contender {
        let name: String
        var isRival = true
        let seconds: Double

        func upload(_ files: TestFiles, room: String) throws -> Sample {
            Sample(wall: seconds, cpu: seconds, peakMemory: 1)
        }
    }

    @Test func `the agent is compared with the better rival, not with contenders for information`() throws {
        let samples: [(any Contender, [Double])] = [
            (Fixed(name: "outbox", seconds: 0), [4, 6]), (Fixed(name: "a", seconds: 0), [2, 6]),
            (Fixed(name: "b", seconds: 0), [4, 3]), (Fixed(name: "c", isRival: false, seconds: 0), [1, 1]),
        ]
        let series = Series(
            samples.map { contender, seconds in
                (contender: contender, samples: seconds.map { Sample(wall: $0, cpu: $0, peakMemory: 1) })
            })
        #expect(series.rivals == ["a", "b"])
        #expect(series.ratios(\.wall) == [2, 2])
    }
}

extension Substring {
    fileprivate var trimmed: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
