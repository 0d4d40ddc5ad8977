import Testing

@testable import Intake

@Suite("Sidecar name")
struct SidecarNameTests {
    @Test("is the file's name with the suffix", arguments: ["beach.jpg", "a", "no suffix", ".hidden", "ä%b.jpg"])
    func usual(name: String) {
        #expect(SidecarName.name(for: Array(name.utf8)) == Array("\(name).outbox.json".utf8))
    }

    @Test("counts copies before the suffix, so that the watch ignores them")
    func copies() {
        #expect(SidecarName.name(for: Array("a.jpg".utf8), copy: 2) == Array("a.jpg (2).outbox.json".utf8))
        #expect(SidecarName.name(for: Array("a.jpg".utf8), copy: 17) == Array("a.jpg (17).outbox.json".utf8))
    }

    @Test("is complete up to 255 bytes and cut beyond")
    func limit() {
        let fits = [UInt8](repeating: UInt8(ascii: "n"), count: 243)
        #expect(SidecarName.name(for: fits) == fits + Array(".outbox.json".utf8))
        let long = fits + [UInt8(ascii: "n")]
        let name = SidecarName.name(for: long)
        #expect(name.count == 255)
    }

    @Test("ends in the first eight digits of the MD5 of the whole name if cut")
    func hash() {
        let long = [UInt8](repeating: UInt8(ascii: "a"), count: 255)
        let name = String(decoding: SidecarName.name(for: long), as: UTF8.self)
        // printf 'a%.0s' {1..255} | md5sum
        #expect(name == String(repeating: "a", count: 234) + "~46bc249a.outbox.json")
    }

    @Test("is cut between characters", arguments: ["é", "€", "😀"])
    func multibyte(character: String) {
        for shift in 0..<4 {
            let name =
                String(repeating: "x", count: shift) + String(repeating: character, count: 240 / character.utf8.count)
            let bytes = Array((name + "....").utf8.prefix(255))
            let cut = SidecarName.name(for: bytes)
            #expect(cut.count <= 255)
            #expect(String(validating: cut, as: UTF8.self) != nil)
            #expect(cut.count > 255 - character.utf8.count)
        }
    }

    @Test("is cut anywhere if nothing is UTF-8, and still fits")
    func notUTF8() {
        let name = SidecarName.name(for: [UInt8](repeating: 0x80, count: 255))
        #expect(name.count <= 255)
        #expect(name.count > 250)
    }

    @Test("fits as a copy too")
    func longCopy() {
        let name = SidecarName.name(for: [UInt8](repeating: UInt8(ascii: "n"), count: 240), copy: 2)
        #expect(name.count == 255)
        #expect(name.suffix(16).elementsEqual(" (2).outbox.json".utf8))
    }

    @Test("differs for long names with the same beginning")
    func different() {
        let one = [UInt8](repeating: UInt8(ascii: "n"), count: 254)
        #expect(SidecarName.name(for: one + [1]) != SidecarName.name(for: one + [2]))
    }

    @Test("recognises the names of temporary files")
    func temporary() {
        #expect(SidecarName.isTemporary(SidecarName.temporary(for: Array("beach.jpg".utf8))[...]))
        #expect(!SidecarName.isTemporary(Array(".outbox-notes.tmp".utf8)[...]))
        #expect(!SidecarName.isTemporary(Array("beach.jpg".utf8)[...]))
    }
}
