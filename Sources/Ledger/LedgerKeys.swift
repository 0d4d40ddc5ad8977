import CXXHash
import UploadCore

/// Builds the tables' keys. Numbers are big-endian, so that LMDB's key order is numeric order.
enum LedgerKeys {
    /// Hashes a path to 16 bytes, since LMDB limits keys to 511 bytes and paths may be longer.
    static func pathHash(_ path: [UInt8]) -> [UInt8] {
        let hash = path.withUnsafeBytes { XXH3_128bits_withSeed($0.baseAddress, $0.count, 0) }
        return bigEndian(hash.high64, hash.low64)
    }

    static func content(_ key: ContentKey) -> [UInt8] {
        bigEndian(key.high, key.low)
    }

    static func page(_ key: ContentKey, _ index: Int) -> [UInt8] {
        var bytes = bigEndian(key.high, key.low)
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: index).bigEndian) { bytes.append(contentsOf: $0) }
        return bytes
    }

    /// Returns the key of a record about one content at one server and account.
    static func scoped(_ key: ContentKey, _ scope: RemoteScope) -> [UInt8] {
        var text = scope.description
        let hash = text.withUTF8 { XXH3_64bits_withSeed($0.baseAddress, $0.count, 0) }
        var bytes = bigEndian(key.high, key.low)
        withUnsafeBytes(of: hash.bigEndian) { bytes.append(contentsOf: $0) }
        return bytes
    }

    static func source(_ id: String) -> [UInt8] {
        Array(id.utf8)
    }

    private static func bigEndian(_ high: UInt64, _ low: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(40)
        withUnsafeBytes(of: high.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: low.bigEndian) { bytes.append(contentsOf: $0) }
        return bytes
    }
}
