import Testing
import UploadCore

@testable import Digests

@Suite("Checksums for S3")
struct ChecksumTests {
    /// RFC 4231, sections 4.2 to 4.4, 4.7 and 4.8.
    @Test(
        "computes the HMAC-SHA-256 of RFC 4231's vectors",
        arguments: [
            (
                [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                [UInt8](repeating: 0xAA, count: 20), [UInt8](repeating: 0xDD, count: 50),
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
            ),
            (
                [UInt8](repeating: 0xAA, count: 131),
                Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
        ])
    func code(key: [UInt8], message: [UInt8], code: String) {
        #expect(HMACSHA256.code(of: message, key: key).hexadecimal == code)
    }

    @Test(
        "computes CRC64NVME",
        arguments: [("", 0), ("123456789", 0xAE8B_1486_0A79_9888), ("hello world!", 0xD916_0D1F_A8E4_18E3)])
    func checksum(text: String, value: UInt64) {
        #expect(crc(Array(text.utf8), step: 100) == value)
    }

    @Test("gives the same CRC64NVME for pieces of any size", arguments: [1, 3, 7, 8, 9, 64, 1000])
    func pieces(step: Int) {
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 * 7 + $0 / 3) }
        #expect(crc(bytes, step: step) == crc(bytes, step: 1000))
    }

    private func crc(_ bytes: [UInt8], step: Int) -> UInt64 {
        var crc = CRC64NVME()
        for start in stride(from: 0, to: bytes.count, by: step) {
            bytes[start..<min(start + step, bytes.count)].withUnsafeBytes { crc.update($0) }
        }
        return crc.value
    }
}
