import Testing

@testable import Console

@Suite("A block that is redrawn in place")
struct LiveBlockTests {
    private static let hide = "\u{1B}[?25l"
    private static let show = "\u{1B}[?25h"
    private static let toLineEnd = "\u{1B}[K\n"
    private static let toScreenEnd = "\u{1B}[J"

    @Test("the first drawing starts where the cursor is")
    func first() {
        var block = LiveBlock()
        #expect(
            block.draw(["a", "b"], columns: 80)
                == Self.hide + "\ra" + Self.toLineEnd + "b" + Self.toLineEnd + Self.toScreenEnd)
    }

    @Test("the next goes back up over the lines of the last, and pushes lines that stay above")
    func next() {
        var block = LiveBlock()
        _ = block.draw(["a", "b"], columns: 80)
        #expect(
            block.draw(["c"], above: ["done"], columns: 80)
                == "\r\u{1B}[2Adone" + Self.toLineEnd + "c" + Self.toLineEnd + Self.toScreenEnd)
    }

    @Test("lines that a smaller window broke count as often as they were broken")
    func resized() {
        var block = LiveBlock()
        _ = block.draw([String(repeating: "x", count: 70), "b"], columns: 80)
        #expect(block.draw(["c"], columns: 30).hasPrefix("\r\u{1B}[4A"))
    }

    @Test("a line that fills its row is not followed by clearing, which would take its last character")
    func full() {
        var block = LiveBlock()
        #expect(
            block.draw(["1234"], above: ["12345678"], columns: 4) == Self.hide + "\r12345678\n1234\n" + Self.toScreenEnd
        )
    }

    @Test("erasing leaves a clean screen with a cursor, once")
    func erased() {
        var block = LiveBlock()
        _ = block.draw(["a"], columns: 80)
        #expect(block.erase(columns: 80) == "\r\u{1B}[1A" + Self.toScreenEnd + Self.show)
        #expect(block.erase(columns: 80).isEmpty)
    }

    @Test("after erasing it is drawn where the cursor is again")
    func again() {
        var block = LiveBlock()
        _ = block.draw(["a", "b"], columns: 80)
        _ = block.erase(columns: 80)
        #expect(block.draw(["c"], columns: 80).hasPrefix(Self.hide + "\rc"))
    }
}
