import Crypto
package import Foundation

/// Lower-case MD5 digests, as contract 3 writes keys.
package enum Digest {
    package static func md5(_ bytes: some DataProtocol) -> String {
        hex(Insecure.MD5.hash(data: bytes))
    }

    /// Of a file, read in pieces.
    package static func md5(file path: String) throws -> String {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        var digest = Insecure.MD5()
        while let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty {
            digest.update(data: piece)
        }
        return hex(digest.finalize())
    }

    package static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
