internal import Glibc

/// Minimal media files: correct magic bytes and headers, then a payload generated from a seed.
///
/// Equal kind, size and seed give equal bytes. Another seed changes the content of every 256 KiB.
public enum SampleMedia: String, Sendable, CaseIterable {
    /// JFIF with a frame header for 640 × 480 pixels.
    case jpeg
    /// PNG with an IHDR for 640 × 480 pixels.
    case png
    /// ISO base media: `ftyp` and one `mdat` box.
    case mp4

    /// The usual file name extension.
    public var fileExtension: String { self == .jpeg ? "jpg" : rawValue }

    /// The media type that a sniffer detects.
    public var mediaType: String { self == .mp4 ? "video/mp4" : "image/\(rawValue)" }

    /// The file could not be written.
    public struct WriteError: Error, CustomStringConvertible {
        /// The path and the reason.
        public let description: String
    }

    /// Returns the whole file.
    ///
    /// - Parameter size: The size in bytes; at least the size of the headers, about 60 bytes.
    public func bytes(size: Int, seed: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        pieces(size: size, seed: seed) { bytes.append(contentsOf: $0) }
        return bytes
    }

    /// Writes the file piece by piece, so that a file of any size fits into memory. Overwrites an existing file.
    public func write(to path: String, size: Int, seed: UInt64) throws {
        let descriptor = try Self.create(path)
        defer { close(descriptor) }
        try pieces(size: size, seed: seed) { try Self.writeAll($0, to: descriptor, path: path) }
    }

    /// Creates a file of `size` bytes with a hole as its payload: only the headers take disk space.
    public func writeSparse(to path: String, size: Int) throws {
        let descriptor = try Self.create(path)
        defer { close(descriptor) }
        try Self.writeAll(head(size: size), to: descriptor, path: path)
        guard ftruncate(descriptor, size) == 0 else { throw WriteError(description: "\(path): errno \(errno)") }
    }

    /// Returns the headers at the start of the file.
    public func head(size: Int) -> [UInt8] {
        switch self {
        case .jpeg: Self.jpegHead
        case .png: Self.pngHead
        case .mp4: Self.mp4Head(size: size)
        }
    }

    private func pieces(size: Int, seed: UInt64, _ take: ([UInt8]) throws -> Void) rethrows {
        let head = head(size: size)
        try take(head)
        var left = size - head.count
        var random = SeededRandom(seed: seed)
        var block = random.bytes(min(max(left, 0), 256 * 1024))
        var number: UInt64 = 0
        while left > 0 {
            // Stamp a number into one random block: much cheaper than new random bytes, and a misplaced block is
            // still detected.
            withUnsafeBytes(of: number.littleEndian) { stamp in
                for (index, byte) in stamp.enumerated() where index < block.count { block[index] ^= byte }
            }
            try take(left >= block.count ? block : Array(block.prefix(left)))
            left -= block.count
            number += 1
        }
    }

    private static func create(_ path: String) throws -> Int32 {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw WriteError(description: "\(path): errno \(errno)") }
        return descriptor
    }

    private static func writeAll(_ bytes: [UInt8], to descriptor: Int32, path: String) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { throw WriteError(description: "\(path): errno \(errno)") }
            rest = rest.dropFirst(written)
        }
    }
}

extension SampleMedia {
    /// ITU T.81: SOI, APP0 (JFIF), SOF0 (480 × 640, three components), SOS.
    private static let jpegHead: [UInt8] =
        [0xFF, 0xD8, 0xFF, 0xE0, 0x00, 0x10] + Array("JFIF".utf8) + [0, 1, 1, 0, 0, 1, 0, 1, 0, 0]
        + [0xFF, 0xC0, 0x00, 0x11, 8, 0x01, 0xE0, 0x02, 0x80, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]
        + [0xFF, 0xDA, 0x00, 0x0C, 3, 1, 0, 2, 0x11, 3, 0x11, 0, 0x3F, 0]

    /// W3C PNG, section 5: the signature and the IHDR chunk (640 × 480, 8 bit, RGB), then an IDAT chunk's start.
    private static let pngHead: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
        + [0, 0, 2, 0x80, 0, 0, 1, 0xE0, 8, 2, 0, 0, 0] + [0xBA, 0xB3, 0x4B, 0xB3]
        + [0x7F, 0xFF, 0xFF, 0xFF] + Array("IDAT".utf8)

    /// ISO 14496-12: a 24 byte `ftyp` box, then an `mdat` box with a 64 bit size up to the file's end.
    private static func mp4Head(size: Int) -> [UInt8] {
        let fileType = [0, 0, 0, 24] + Array("ftypisom".utf8) + [0, 0, 2, 0] + Array("isommp42".utf8)
        let length = UInt64(max(size - fileType.count, 16)).bigEndian
        return fileType + [0, 0, 0, 1] + Array("mdat".utf8) + withUnsafeBytes(of: length) { Array($0) }
    }
}
