import CCrypto
package import Foundation

/// Lower-case MD5 digests, the form of keys in contract 3.
package enum Digest {
    package static func md5(_ bytes: some DataProtocol) -> String {
        var digest = RunningMD5()
        digest.update(Data(bytes))
        return digest.finish()
    }

    /// Returns the MD5 of a file, read in pieces.
    package static func md5(file path: String) throws -> String {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        var digest = RunningMD5()
        while let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty { digest.update(piece) }
        return digest.finish()
    }
}

/// Computes an MD5 piece by piece (man 3 MD5_Init).
struct RunningMD5 {
    private var context = MD5_CTX()

    init() {
        MD5_Init(&context)
    }

    mutating func update(_ piece: Data) {
        piece.withUnsafeBytes { bytes in _ = MD5_Update(&context, bytes.baseAddress, bytes.count) }
    }

    /// Returns the digest as 32 hexadecimal digits. The hash must not be used afterwards.
    mutating func finish() -> String {
        var digest = [UInt8](repeating: 0, count: Int(MD5_DIGEST_LENGTH))
        MD5_Final(&digest, &context)
        return digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
