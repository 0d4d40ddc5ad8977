import Text
import Testing

@testable import Console

@Suite("Bars and boards")
struct ProgressTests {
    @Test(
        "a bar fills from the left in eighths of a column",
        arguments: [
            (0, "░░░░"), (0.03125, "▏░░░"), (0.5, "██░░"), (0.99, "███▉"), (1, "████"), (2, "████"), (-1, "░░░░"),
            (Double.nan, "░░░░"),
        ])
    func blocks(share: Double, text: String) {
        #expect(ProgressBar.text(share, width: 4, look: .terminal(80)) == text)
    }

    @Test(
        "a bar without Unicode is made of ASCII",
        arguments: [(0, "[    ]"), (0.25, "[>   ]"), (0.6, "[=>  ]"), (0.99, "[==> ]"), (1, "[====]")])
    func ascii(share: Double, text: String) {
        #expect(ProgressBar.text(share, width: 6, look: .terminal(80, unicode: false)) == text)
    }

    @Test("a bar has the requested width, or is empty", arguments: 0..<30, [true, false])
    func barWidth(width: Int, unicode: Bool) {
        for step in 0...50 {
            let bar = ProgressBar.text(Double(step) / 50, width: width, look: .terminal(80, unicode: unicode))
            #expect(DisplayText.width(bar) == (width < 3 ? 0 : width))
        }
    }

    @Test("a board has a line for each file not in a final state, active files first")
    func order() throws {
        let files = [
            try entry("a.jpg", "waiting", error: "dns"), try entry("b.jpg", "done"), try entry("c.jpg", "queued"),
            try entry("d.jpg", "uploading", progress: 0.5, speed: 1_000_000, eta: 125),
        ]
        let lines = ProgressBoard(look: .terminal(80)).lines(files, last: "the last")
        #expect(lines.map { $0.prefix(5) } == ["d.jpg", "c.jpg", "a.jpg", "the l"])
        #expect(lines[0].hasSuffix("1.0 MB/s  2 min 5 s left"), "\(lines[0])")
        #expect(lines[2].hasSuffix("waiting (dns)"), "\(lines[2])")
    }

    @Test("a name gets the width it needs if available, and the bar gets the rest")
    func nameWidth() throws {
        let name = "holidays/2026-11 island/DSC_0042 sunset.jpg"
        let long = try entry(name, "uploading", progress: 0.5, speed: 1_000_000, eta: 125)
        for columns in [100, 120, 160] {
            let line = ProgressBoard(look: .terminal(columns)).lines([long], last: "last")[0]
            #expect(line.hasPrefix(name + "  "), "\(line)")
            #expect(line.hasSuffix("1.0 MB/s  2 min 5 s left"), "\(line)")
        }
        let short = try entry("a.jpg", "uploading", progress: 0.5, speed: 1_000_000, eta: 125)
        let line = ProgressBoard(look: .terminal(100)).lines([short], last: "last")[0]
        #expect(line.contains(String(repeating: "█", count: 15) + String(repeating: "░", count: 15)), "\(line)")
    }

    @Test("a board is lower and no wider than the terminal", arguments: [1, 12, 40, 55, 80, 200], [2, 3, 5, 24])
    func fits(columns: Int, rows: Int) throws {
        let files = try (0..<30).map { index in
            try entry(
                "trip/日本語 \(index) with a long name.jpg", "uploading", size: 4_834_205, progress: 0.37,
                speed: 12_345_678,
                eta: 4000)
        }
        let board = ProgressBoard(look: .terminal(columns, rows))
        let lines = board.lines(files, last: board.total(files))
        #expect(lines.count < rows)
        #expect(lines.allSatisfy { DisplayText.width($0) <= columns })
    }

    @Test("files that do not fit are counted")
    func more() throws {
        let files = try (0..<10).map { try entry("\($0).jpg", "queued") }
        let lines = ProgressBoard(look: .terminal(80, 6)).lines(files, last: "last")
        #expect(lines.count == 5)
        #expect(lines[3] == "… and 7 more")
    }

    @Test("the total counts files and bytes, and omits parts that do not fit a narrow terminal")
    func total() throws {
        let files = [
            try entry("a.jpg", "done", size: 3_000_000, progress: 1),
            try entry("b.jpg", "uploading", size: 5_000_000, progress: 0.2, speed: 1_000_000),
        ]
        let wide = ProgressBoard(look: .terminal(120)).total(files)
        #expect(wide.hasPrefix("1 of 2 through "))
        #expect(wide.hasSuffix(" 50%  4.0 MB of 8.0 MB  1.0 MB/s  4 s left"), "\(wide)")
        let narrow = ProgressBoard(look: .terminal(55)).total(files)
        #expect(narrow.hasSuffix(" 50%  1.0 MB/s  4 s left"), "\(narrow)")
    }
}
