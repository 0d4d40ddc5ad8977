import Glibc
import SystemPackage

/// Files to upload: all in one directory, with different contents.
struct TestFiles {
    /// The first bytes of a JPEG (JFIF 1.02) and of an MP4 file (ISO 14496-12, `ftyp`).
    static let jpegStart: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 16] + Array("JFIF\0".utf8) + [1, 2]
    private static let mp4Start: [UInt8] =
        [0, 0, 0, 24] + Array("ftypisom".utf8) + [0, 0, 2, 0] + Array("isommp42".utf8)

    let directory: String
    let names: [String]
    let bytesEach: Int64

    var totalBytes: Int64 { bytesEach * Int64(names.count) }

    /// Creates files of random bytes: pictures, or videos from 16 MiB on.
    static func make(_ count: Int, of bytesEach: Int64, in directory: String) throws -> TestFiles {
        let isVideo = bytesEach >= 16 << 20
        let names = (0..<count).map { isVideo ? "video-\($0).mp4" : "picture-\($0).jpg" }
        var bytes = RandomBytes(seed: UInt64(bytesEach))
        for name in names {
            try bytes.writeFile(
                "\(directory)/\(name)", start: isVideo ? mp4Start : jpegStart, count: Int(bytesEach))
        }
        return TestFiles(directory: directory, names: names, bytesEach: bytesEach)
    }

    /// Creates one video that is a hole except for its beginning.
    static func makeSparse(_ bytes: Int64, in directory: String) throws -> TestFiles {
        let name = "sparse.mp4"
        let file = try FileDescriptor.open(
            FilePath("\(directory)/\(name)"), .writeOnly, options: [.create, .closeOnExec],
            permissions: .ownerReadWrite)
        try file.closeAfter {
            _ = try file.writeAll(mp4Start)
            guard ftruncate(file.rawValue, Int(bytes)) == 0 else { throw Failure.system("making a sparse file") }
        }
        return TestFiles(directory: directory, names: [name], bytesEach: bytes)
    }

    /// Gives every contender the same start: flushes all writes to the disk, and reads the files into the page cache
    /// as far as they fit.
    func level() throws {
        sync()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        for name in names {
            let file = try FileDescriptor.open("\(directory)/\(name)", .readOnly, options: .closeOnExec)
            try file.closeAfter { while try file.read(into: buffer) > 0 {} }
        }
    }

    /// Moves the files to another directory, one rename each.
    func move(from source: String, to destination: String) throws {
        for name in names where rename("\(source)/\(name)", "\(destination)/\(name)") != 0 {
            throw Failure.system("\(destination)/\(name)")
        }
    }
}

/// Many pictures of 1 KiB, in directories of 500, as a camera's card has them.
struct TinyFiles {
    static let size = 1024
    private static let perDirectory = 500

    let count: Int
    private let directory: String
    private let names: [String]

    /// Creates the files.
    ///
    /// - Parameters:
    ///   - numbers: The numbers of the files; files with other numbers have other names and contents.
    ///   - directory: An empty directory.
    init(_ numbers: Range<Int>, in directory: String) throws {
        self.directory = directory
        count = numbers.count
        var bytes = RandomBytes(seed: UInt64(numbers.lowerBound))
        names = try stride(from: numbers.lowerBound, to: numbers.upperBound, by: Self.perDirectory).map { first in
            let trip = try Workplace.makeDirectory("\(directory)/trip-\(first)")
            for number in first..<min(first + Self.perDirectory, numbers.upperBound) {
                try bytes.writeFile(
                    "\(trip)/picture-\(number).jpg", start: TestFiles.jpegStart, count: Self.size)
            }
            return "trip-\(first)"
        }
    }

    /// Moves all directories into the outbox, one rename each.
    func drop(into outbox: String) throws {
        for name in names where rename("\(directory)/\(name)", "\(outbox)/\(name)") != 0 {
            throw Failure.system("\(outbox)/\(name)")
        }
    }

    /// Returns the disk space for so many files with their sidecars and the ledger, and a reserve.
    static func space(_ count: Int) -> Int64 { Int64(count) * (12 << 10) + (1 << 30) }
}

/// Random bytes that defeat compression and deduplication, equal in every run (SplitMix64).
struct RandomBytes {
    private var state: UInt64
    private var block = [UInt64](repeating: 0, count: 64 << 10)

    init(seed: UInt64) {
        state = seed
    }

    /// Writes a file of `count` bytes that begins with `start`.
    mutating func writeFile(_ path: String, start: [UInt8], count: Int) throws {
        let file = try FileDescriptor.open(
            path, .writeOnly, options: [.create, .truncate, .closeOnExec], permissions: .ownerReadWrite)
        try file.closeAfter { try write(to: file, start: start, count: count) }
    }

    /// Writes `count` bytes that begin with `start`.
    mutating func write(to file: FileDescriptor, start: [UInt8], count: Int) throws {
        var left = count
        while left > 0 {
            refill(for: left)
            try block.withUnsafeMutableBytes { bytes in
                if left == count { bytes.copyBytes(from: start) }
                _ = try file.writeAll(bytes.prefix(left))
                left -= min(left, bytes.count)
            }
        }
    }

    private mutating func refill(for count: Int) {
        for index in block.indices.prefix(count / 8 + 1) {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            block[index] = value ^ (value >> 31)
        }
    }
}

/// Reads and writes small files and directories as a whole.
enum TextFile {
    /// Returns the text of a file, or nil if the file cannot be read.
    static func read(_ path: String) -> String? {
        guard let file = try? FileDescriptor.open(path, .readOnly, options: .closeOnExec) else { return nil }
        defer { try? file.close() }
        var bytes: [UInt8] = []
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 1)
        defer { chunk.deallocate() }
        while let count = try? file.read(into: chunk), count > 0 { bytes += chunk[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func write(_ text: String, to path: String) throws {
        let file = try FileDescriptor.open(
            path, .writeOnly, options: [.create, .truncate, .closeOnExec], permissions: .ownerReadWrite)
        try file.closeAfter { _ = try file.writeAll(text.utf8) }
    }

    /// Returns the names in a directory, or an empty array if the directory cannot be read.
    static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
