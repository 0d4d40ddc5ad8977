import Digests
import FoundationEssentials
import Transport
import UploadCore

/// The header field `Upload-Checksum`: an algorithm, and a digest of the request's body in base64.
struct TusChecksum: Equatable, Sendable {
    static let md5 = "md5"
    static let sha1 = "sha1"

    /// The longest body with a checksum in bytes. A server drops a body whose checksum does not match, so an interruption
    /// costs all of the body.
    static let longestBody = 8 << 20

    private let algorithm: String
    private let digest: [UInt8]

    var text: String { "\(algorithm) \(Data(digest).base64EncodedString())" }

    /// The MD5 of a whole content.
    static func md5(of key: ContentKey) -> TusChecksum { TusChecksum(algorithm: md5, digest: key.bytes) }

    /// Reads a body and computes its SHA-1.
    ///
    /// - Returns: nil if the body can't be read. The transport then meets the same problem.
    static func sha1(of body: any BodySource) -> TusChecksum? {
        var bytes = [UInt8](repeating: 0, count: Int(body.length))
        var filled = 0
        while filled < bytes.count {
            guard
                let count = try? bytes.withUnsafeMutableBytes({ buffer in
                    try body.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
                }), count > 0
            else { return nil }
            filled += count
        }
        return TusChecksum(algorithm: sha1, digest: SHA1Hasher.hash(bytes))
    }
}
