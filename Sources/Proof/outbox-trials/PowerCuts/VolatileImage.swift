import Glibc
import TestSupport

/// The contents of a disk with a write cache that a power cut empties.
///
/// A write stays in the cache until the end of a later flush; only then the platter has the bytes.
struct VolatileImage: ~Copyable {
    /// A write that no flush has covered yet.
    private struct Write {
        let offset: Int
        let bytes: [UInt8]
    }

    /// The smallest piece that survives or vanishes as a whole.
    private static let sector = 4096

    let size: Int
    /// The bytes that reads return.
    private let cache: UnsafeMutableRawPointer
    /// The bytes that survive a cut.
    private let platter: UnsafeMutableRawPointer
    private var unflushed: [Write] = []

    /// - Throws: ``Missing`` if there is not enough memory.
    init(size: Int) throws {
        let (cache, platter) = (try Self.allocate(size), try Self.allocate(size))
        self.size = size
        self.cache = cache
        self.platter = platter
    }

    deinit {
        munmap(cache, size)
        munmap(platter, size)
    }

    /// Allocates zeros, which take memory only once written.
    private static func allocate(_ size: Int) throws -> UnsafeMutableRawPointer {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        guard let memory = mmap(nil, size, PROT_READ | PROT_WRITE, flags, -1, 0), memory != MAP_FAILED else {
            throw Missing("no memory for a disk of \(size) bytes")
        }
        return memory
    }

    /// The number of writes that a cut could lose now.
    var unflushedCount: Int { unflushed.count }

    /// Returns the bytes of a range, without any part beyond the end.
    func read(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
        let start = min(max(0, offset), size)
        return UnsafeRawBufferPointer(start: cache + start, count: min(count, size - start))
    }

    /// - Returns: False if the range exceeds the disk.
    mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        guard let base = bytes.baseAddress, offset >= 0, bytes.count <= size - offset else { return bytes.isEmpty }
        (cache + offset).copyMemory(from: base, byteCount: bytes.count)
        unflushed.append(Write(offset: offset, bytes: Array(bytes)))
        return true
    }

    mutating func flush() {
        for write in unflushed { Self.copy(write.bytes[...], to: platter + write.offset) }
        unflushed = []
    }

    /// Cuts the power. Each unflushed piece is lost with this probability, independently of the order of writes.
    mutating func cut(losing share: Double, random: inout SeededRandom) {
        for write in unflushed {
            for start in stride(from: 0, to: write.bytes.count, by: Self.sector) {
                guard Double.random(in: 0..<1, using: &random) >= share else { continue }
                let end = min(start + Self.sector, write.bytes.count)
                Self.copy(write.bytes[start..<end], to: platter + write.offset + start)
            }
        }
        unflushed = []
        cache.copyMemory(from: platter, byteCount: size)
    }

    private static func copy(_ bytes: ArraySlice<UInt8>, to target: UnsafeMutableRawPointer) {
        bytes.withUnsafeBytes { buffer in
            if let base = buffer.baseAddress { target.copyMemory(from: base, byteCount: buffer.count) }
        }
    }
}

/// A requirement of the trial that this machine lacks.
struct Missing: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
