import Testing
import UploadCore

@Suite("Hexadecimal digits")
struct HexadecimalTests {
    @Test("bytes become two lower-case digits each")
    func bytes() {
        #expect([UInt8]().hexadecimal == "")
        #expect([0x00, 0x0A, 0x9F, 0xFF].hexadecimal == "000a9fff")
        #expect([1, 2, 0xAB, 3].dropFirst(2).hexadecimal == "ab03")
    }

    @Test("a number has the digits of its type, leading zeros included")
    func numbers() {
        #expect(UInt8(7).hexadecimal == "07")
        #expect(UInt16(0x1F).hexadecimal == "001f")
        #expect(UInt32(0xDEAD_BEEF).hexadecimal == "deadbeef")
        #expect(UInt64(1).hexadecimal == "0000000000000001")
    }
}
