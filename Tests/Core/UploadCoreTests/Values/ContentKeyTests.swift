import Testing
import UploadCore

@Suite("The key of a content")
struct ContentKeyTests {
    private static let text = "9e107d9d372bb6826bd81d3542a419d6"

    @Test("is read in either case, and shown as 32 lower-case digits")
    func roundTrip() throws {
        let key = try #require(ContentKey(hexadecimal: Self.text))
        #expect(key.description == Self.text)
        #expect(ContentKey(hexadecimal: Self.text.uppercased()) == key)
        #expect(key.bytes.count == 16 && key.bytes.first == 0x9E && key.bytes.last == 0xD6)
        #expect(ContentKey(digest: key.bytes) == key)
        #expect(ContentKey(high: 0, low: 1).description == "00000000000000000000000000000001")
    }

    @Test(
        "is not read from other text",
        arguments: [
            "", "9e107d9d", text + "0", "+e107d9d372bb6826bd81d3542a419d6", "g" + text.dropFirst(),
            " " + text.dropFirst(),
        ])
    func illegal(text: String) {
        #expect(ContentKey(hexadecimal: text) == nil)
    }

    @Test("is not read from full-width digits")
    func fullWidth() {
        #expect(ContentKey(hexadecimal: String(repeating: "１", count: 32)) == nil)
        #expect(ContentKey(hexadecimal: String(repeating: "１", count: 10) + "ab") == nil)
    }

    @Test("has exactly 16 bytes", arguments: [0, 15, 17, 32])
    func length(count: Int) {
        #expect(ContentKey(digest: Array(repeating: UInt8(7), count: count)) == nil)
    }

    @Test("is ordered by its bytes")
    func order() {
        let keys = [ContentKey(high: 1, low: 0), ContentKey(high: 0, low: .max), ContentKey(high: 1, low: 1)]
        #expect(keys.sorted().map(\.high) == [0, 1, 1])
        #expect(keys.sorted()[1].low == 0)
    }
}
