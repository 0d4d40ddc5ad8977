import Digests
import FoundationEssentials
import LinuxSystem
import Synchronization
import Transport
import UploadCore

/// The digests of a body, which S3 wants before the body.
struct BodyDigests: Equatable, Sendable {
    /// Nil if not wanted.
    var md5: ContentKey?
    /// Nil if not wanted.
    var sha256: [UInt8]?
    /// Nil if not wanted.
    var crc64nvme: UInt64?

    /// Which digests are wanted.
    struct Wish: OptionSet, Sendable {
        let rawValue: Int
        static let md5 = Wish(rawValue: 1)
        static let sha256 = Wish(rawValue: 2)
        static let crc64nvme = Wish(rawValue: 4)
    }

    /// The digests of bytes in memory.
    init(of bytes: [UInt8], _ wish: Wish) {
        var hashers = Hashers(wish)
        bytes.withUnsafeBytes { hashers.update($0) }
        self = hashers.finish()
    }

    init(md5: ContentKey? = nil) { self.md5 = md5 }

    /// Which digests these are.
    var contained: Wish {
        var wish: Wish = []
        if md5 != nil { wish.insert(.md5) }
        if sha256 != nil { wish.insert(.sha256) }
        if crc64nvme != nil { wish.insert(.crc64nvme) }
        return wish
    }

    /// Adds the digests that these lack.
    mutating func merge(_ others: BodyDigests) {
        md5 = md5 ?? others.md5
        sha256 = sha256 ?? others.sha256
        crc64nvme = crc64nvme ?? others.crc64nvme
    }
}

private struct Hashers {
    private var md5: MD5Hasher?
    private var sha256: SHA256Hasher?
    private var crc64nvme: CRC64NVME?

    init(_ wish: BodyDigests.Wish) {
        if wish.contains(.md5) { md5 = MD5Hasher() }
        if wish.contains(.sha256) { sha256 = SHA256Hasher() }
        if wish.contains(.crc64nvme) { crc64nvme = CRC64NVME() }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        md5?.update(bytes)
        sha256?.update(bytes)
        crc64nvme?.update(bytes)
    }

    mutating func finish() -> BodyDigests {
        var digests = BodyDigests()
        digests.md5 = (md5?.finish()).flatMap { ContentKey(digest: $0) }
        digests.sha256 = sha256?.finish()
        digests.crc64nvme = crc64nvme?.value
        return digests
    }
}

/// Computes the digests of bodies on a thread of its own, so that neither transfers nor other tasks wait for the disk.
final class BodyDigester: Sendable {
    private static let bufferSize = 256 << 10

    private let thread = SerialThread(name: "s3-digests")

    /// Reads a body to its end, and returns to its first byte.
    ///
    /// - Throws: `TransportError.body` if the bytes can't be read or changed since hashing; `.cancelled`.
    func digests(of body: any BodySource, _ wish: BodyDigests.Wish) async throws(TransportError) -> BodyDigests {
        if wish.isEmpty { return BodyDigests() }
        let result = await withTaskExecutorPreference(thread) { await Self.read(body, wish) }
        return try result.get()
    }

    /// Does work that takes long for the transport's thread, such as hashing a megabyte.
    func perform<Value: Sendable>(_ work: @Sendable () -> Value) async -> Value {
        await withTaskExecutorPreference(thread) { work() }
    }

    private static func read(
        _ body: any BodySource, _ wish: BodyDigests.Wish
    ) async -> Result<BodyDigests, TransportError> {
        var hashers = Hashers(wish)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferSize, alignment: 64)
        defer { buffer.deallocate() }
        do {
            var left = body.length
            while left > 0 {
                if Task.isCancelled { return .failure(.cancelled) }
                let count = try body.read(into: buffer)
                if count == 0 { throw BodyTooShort(promised: body.length, delivered: body.length - left) }
                hashers.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                left -= min(left, UInt64(count))
            }
            try body.rewind()
        } catch {
            return .failure(.body(error))
        }
        return .success(hashers.finish())
    }
}

extension Collection<UInt8> {
    /// The bytes in base64 (RFC 4648, section 4).
    var base64: String { Data(self).base64EncodedString() }
}

/// A body of zeros.
final class ZeroBody: BodySource {
    let length: UInt64
    private let rest: Mutex<UInt64>

    init(length: UInt64) {
        self.length = length
        rest = Mutex(length)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        rest.withLock { rest in
            let count = Int(min(rest, UInt64(buffer.count)))
            rest -= UInt64(count)
            if count > 0 {
                UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]).initializeMemory(as: UInt8.self, repeating: 0)
            }
            return count
        }
    }

    func rewind() { rest.withLock { $0 = length } }
}
