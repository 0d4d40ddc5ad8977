import CXXHash
import UploadCore

/// Builds the tables' keys. Numbers are big-endian, so that LMDB's key order is numeric order.
enum LedgerKeys {
    /// Hashes a directory's path, or a file's name, to 8 bytes: LMDB limits keys to 511 bytes, and paths may be longer.
    static func hash(_ text: ArraySlice<UInt8>) -> UInt64 {
        text.withUnsafeBytes { XXH3_64bits_withSeed($0.baseAddress, $0.count, 0) }
    }

    /// Returns a key of one hash.
    static func hashed(_ hash: UInt64) -> [UInt8] { withUnsafeBytes(of: hash.bigEndian) { Array($0) } }

    /// Returns a key of two hashes.
    static func hashed(_ first: UInt64, _ second: UInt64) -> [UInt8] { bigEndian(first, second) }

    /// Hashes what the server knows an upload by, since LMDB limits keys to 511 bytes and ids may be longer.
    static func removal(_ handle: RemoteHandle, _ scope: RemoteScope) -> [UInt8] {
        let object: [UInt8] = handle.object.map { [0] + Array($0.utf8) } ?? []
        let text = Array(scope.description.utf8) + [0] + Array(handle.id.utf8) + object
        let hash = text.withUnsafeBytes { XXH3_128bits_withSeed($0.baseAddress, $0.count, 0) }
        return bigEndian(hash.high64, hash.low64)
    }

    static func content(_ key: ContentKey) -> [UInt8] {
        bigEndian(key.high, key.low)
    }

    /// Bytes of a number.
    static let numberSize = 8
    /// Bytes of a content's key.
    static let contentSize = 16
    /// Bytes of a place in the queue.
    static let placeSize = 24

    /// Returns the key of a place in the queue: the order, then the content's key.
    static func place(_ place: QueuePlace) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(placeSize + 1)
        // With the sign bit flipped, the byte order of negative numbers is below that of positive ones.
        let order = UInt64(bitPattern: place.order) ^ (1 << 63)
        for number in [order, place.key.high, place.key.low] {
            withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    /// Returns the place that a key of the queue stands for; nil if the key has another length.
    static func queuePlace(_ bytes: [UInt8]) -> QueuePlace? {
        guard bytes.count == placeSize, let key = contentKey(bytes.suffix(contentSize)) else { return nil }
        return QueuePlace(order: Int64(bitPattern: number(bytes.prefix(8)) ^ (1 << 63)), key: key)
    }

    /// Returns the content that a key stands for; nil if the key has another length.
    static func contentKey(_ bytes: some BidirectionalCollection<UInt8>) -> ContentKey? {
        guard bytes.count == contentSize else { return nil }
        return ContentKey(high: number(bytes.prefix(8)), low: number(bytes.suffix(8)))
    }

    /// Returns the number that some bytes of a key stand for.
    static func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    static func page(_ key: ContentKey, _ index: Int) -> [UInt8] {
        var bytes = bigEndian(key.high, key.low)
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: index).bigEndian) { bytes.append(contentsOf: $0) }
        return bytes
    }

    /// Returns the key of a record about one content at one server and account.
    static func scoped(_ key: ContentKey, _ scope: RemoteScope) -> [UInt8] { hashed(key, scope.description) }

    /// Returns the key of the record of what a recipe made of a content.
    static func product(_ original: ContentKey, recipe: String) -> [UInt8] { hashed(original, recipe) }

    private static func hashed(_ key: ContentKey, _ text: String) -> [UInt8] {
        var text = text
        let hash = text.withUTF8 { XXH3_64bits_withSeed($0.baseAddress, $0.count, 0) }
        var bytes = bigEndian(key.high, key.low)
        withUnsafeBytes(of: hash.bigEndian) { bytes.append(contentsOf: $0) }
        return bytes
    }

    static func source(_ id: String) -> [UInt8] {
        Array(id.utf8)
    }

    /// Returns two numbers, with room for the rest of a key.
    private static func bigEndian(_ high: UInt64, _ low: UInt64) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 40) { buffer, count in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            raw.storeBytes(of: high.bigEndian, as: UInt64.self)
            raw.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            count = 16
        }
    }
}
