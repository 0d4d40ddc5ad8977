import Testing

@testable import Console

@Suite("A block redrawn in place")
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

    @Test("the next drawing overwrites the last, and inserts permanent lines above")
    func next() {
        var block = LiveBlock()
        _ = block.draw(["a", "b"], columns: 80)
        #expect(
            block.draw(["c"], above: ["done"], columns: 80)
                == "\r\u{1B}[2Adone" + Self.toLineEnd + "c" + Self.toLineEnd + Self.toScreenEnd)
    }

    @Test("lines broken by a smaller window count with all their rows")
    func resized() {
        var block = LiveBlock()
        _ = block.draw([String(repeating: "x", count: 70), "b"], columns: 80)
        #expect(block.draw(["c"], columns: 30).hasPrefix("\r\u{1B}[4A"))
    }

    @Test("a line that fills its row is not followed by clearing, which would erase its last character")
    func full() {
        var block = LiveBlock()
        #expect(
            block.draw(["1234"], above: ["12345678"], columns: 4) == Self.hide + "\r12345678\n1234\n" + Self.toScreenEnd
        )
    }

    @Test("erasing clears the block and shows the cursor, once")
    func erased() {
        var block = LiveBlock()
        _ = block.draw(["a"], columns: 80)
        #expect(block.erase(columns: 80) == "\r\u{1B}[1A" + Self.toScreenEnd + Self.show)
        #expect(block.erase(columns: 80).isEmpty)
    }

    @Test("after erasing, the next drawing starts where the cursor is")
    func again() {
        var block = LiveBlock()
        _ = block.draw(["a", "b"], columns: 80)
        _ = block.erase(columns: 80)
        #expect(block.draw(["c"], columns: 80).hasPrefix(Self.hide + "\rc"))
    }
}
