import LinuxSystem
import SystemPackage

/// Reads a file piece by piece. If it reads ahead, another thread may read the next piece while the present one is used.
///
/// `@unchecked`: one thread calls a method at a time. `ContentHasher.update` returns only after `readNext` ended, and
/// `readNext` never writes to the present piece.
final class FilePieces: @unchecked Sendable {
    /// Bytes of a piece that is not read ahead; the fastest of the measured sizes.
    static let usualSize = 256 * 1024
    /// Bytes of a piece that is read ahead. With 1 MiB, the piece was often still in the cache of the other core when it was
    /// overwritten, and reading took twice as long.
    static let sizeAhead = 4 << 20

    /// The present piece; empty at the end of the file.
    private(set) var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    private let file: SharedDescriptor
    private let memory: UnsafeMutableRawBufferPointer
    /// Where the present piece and the next one are in the memory. The same if nothing is read ahead.
    private var places: (present: UnsafeMutableRawBufferPointer, next: UnsafeMutableRawBufferPointer)
    private var next: Result<Int, Errno> = .success(0)

    /// - Parameters:
    ///   - size: the size of the file in bytes; also the upper bound of a piece, even if the file grows.
    ///   - isReadAhead: whether a piece is read while the one before is used.
    init(of file: SharedDescriptor, size: UInt64, isReadAhead: Bool) {
        self.file = file
        let length = Int(min(UInt64(isReadAhead ? Self.sizeAhead : Self.usualSize), size))
        memory = .allocate(byteCount: isReadAhead ? 2 * length : length, alignment: 64)
        let first = UnsafeMutableRawBufferPointer(rebasing: memory.prefix(length))
        places = (first, isReadAhead ? UnsafeMutableRawBufferPointer(rebasing: memory.suffix(length)) : first)
    }

    deinit { memory.deallocate() }

    /// Reads the present piece.
    func read(at offset: UInt64) throws(Errno) {
        readNext(at: offset)
        try takeNext()
    }

    /// Reads the next piece. Any error is thrown by ``takeNext()``.
    func readNext(at offset: UInt64) {
        do throws(Errno) {
            next = .success(try file.read(into: places.next, at: offset))
        } catch {
            next = .failure(error)
        }
    }

    /// Makes the piece that was read the present one.
    func takeNext() throws(Errno) {
        bytes = UnsafeRawBufferPointer(rebasing: places.next.prefix(try next.get()))
        places = (places.next, places.present)
    }
}
