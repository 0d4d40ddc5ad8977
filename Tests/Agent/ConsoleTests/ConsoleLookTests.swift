import Testing

@testable import Console

@Suite("Capabilities of an output")
struct ConsoleLookTests {
    private static let terminal = ["TERM": "xterm", "LANG": "de_DE.UTF-8"]

    private func look(_ changes: [String: String] = [:]) -> ConsoleLook {
        ConsoleLook(terminal: (columns: 100, rows: 30), environment: Self.terminal.merging(changes) { $1 })
    }

    @Test("a terminal has colours and is redrawn")
    func terminal() {
        #expect(look() == ConsoleLook(isLive: true, hasColours: true, hasUnicode: true, columns: 100, rows: 30))
    }

    @Test("a pipe has no colours and no redrawing, and lines of any length")
    func pipe() {
        let look = ConsoleLook(terminal: nil, environment: Self.terminal)
        #expect(!look.isLive && !look.hasColours && look.columns == nil)
    }

    @Test("NO_COLOR takes the colours away, unless it is empty")
    func noColour() {
        #expect(look(["NO_COLOR": "1"]).isLive)
        #expect(!look(["NO_COLOR": "1"]).hasColours)
        #expect(look(["NO_COLOR": ""]).hasColours)
    }

    @Test("a terminal of kind dumb, or of no kind, counts as a pipe", arguments: ["dumb", ""])
    func dumb(kind: String) {
        #expect(!look(["TERM": kind]).isLive)
        #expect(!look(["TERM": kind]).hasColours)
    }

    @Test("the locale determines Unicode: LC_ALL before LC_CTYPE before LANG")
    func locale() {
        #expect(!look(["LC_ALL": "C"]).hasUnicode)
        #expect(look(["LC_ALL": "", "LC_CTYPE": "C.utf8", "LANG": "C"]).hasUnicode)
        #expect(!ConsoleLook(terminal: nil, environment: [:]).hasUnicode)
    }

    @Test("a line is cut at the right edge, and its colour ends there")
    func cut() {
        let colours = ConsoleLook(isLive: true, hasColours: true, hasUnicode: true, columns: 4)
        #expect(colours.cut("abcd") == "abcd")
        #expect(colours.cut(colours.paint("abcdef", .red)) == "\u{1B}[31mabcd\u{1B}[0m")
        #expect(ConsoleLook.terminal(3).cut("a日本") == "a日")
        #expect(ConsoleLook.plain.cut("abcdef") == "abcdef")
    }
}
