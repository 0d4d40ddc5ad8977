import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// A way to write a file into the outbox.
enum Writer: String, CaseIterable {
    case pauses, mapping, hardLink, unnamed, movedTree, preallocated, backwards, copy, rsync, scp, ffmpeg

    /// The required program, if any.
    var program: String? {
        switch self {
        case .rsync, .scp, .ffmpeg: rawValue
        default: nil
        }
    }

    static func isInstalled(_ program: String) -> Bool { path(of: program) != nil }

    static func path(of program: String) -> String? {
        ["/usr/local/bin", "/usr/bin", "/bin"].map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }
}

/// The file, or the few files, to write.
struct WriterWork {
    let bytes: [UInt8]
    let name: String
    let outbox: String
    /// A directory on the same file system, outside the outbox.
    let elsewhere: String

    private var path: String { "\(outbox)/\(name)" }

    /// Writes the files, and returns the final names with their keys.
    func perform(_ writer: Writer) async throws -> [(name: String, key: String)] {
        switch writer {
        case .pauses: try await inPieces(of: bytes.count / 7 + 1, pause: .milliseconds(90))
        case .preallocated: try await preallocated()
        case .backwards: try await backwards()
        case .mapping: try await mapped()
        case .hardLink:
            let source = "\(elsewhere)/\(name)"
            try Files.write(bytes, to: source)
            guard link(source, path) == 0 else { throw Surprise("link: errno \(errno)") }
        case .unnamed: try unnamed()
        case .movedTree: return try movedTree()
        case .copy: try await program("/bin/cp", [try source(), path])
        case .rsync: try await program("/usr/bin/rsync", ["--inplace", try source(), path])
        case .scp: try await program("/usr/bin/scp", ["-q", try source(), path])
        case .ffmpeg: return try await ffmpeg()
        }
        return [(name, Digest.md5(bytes))]
    }

    private func create(_ flags: Int32 = 0) throws -> Int32 {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0o644)
        guard descriptor >= 0 else { throw Surprise("\(path): errno \(errno)") }
        return descriptor
    }

    private func put(_ range: Range<Int>, into descriptor: Int32) throws {
        let count = bytes[range].withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, range.lowerBound) }
        guard count == range.count else { throw Surprise("\(path): wrote \(count) of \(range.count), errno \(errno)") }
    }

    private func inPieces(of size: Int, pause: Duration) async throws {
        let descriptor = try create()
        defer { close(descriptor) }
        for start in stride(from: 0, to: bytes.count, by: size) {
            try put(start..<min(start + size, bytes.count), into: descriptor)
            try await Task.sleep(for: pause)
        }
    }

    /// Sets the full size at the start, like download programs.
    private func preallocated() async throws {
        let descriptor = try create()
        defer { close(descriptor) }
        guard ftruncate(descriptor, bytes.count) == 0 else { throw Surprise("ftruncate: errno \(errno)") }
        try await Task.sleep(for: .milliseconds(400))
        try put(0..<bytes.count, into: descriptor)
    }

    /// Writes the head last, so that the type is unknown until the end.
    private func backwards() async throws {
        let descriptor = try create()
        defer { close(descriptor) }
        let middle = bytes.count / 2
        try put(middle..<bytes.count, into: descriptor)
        try await Task.sleep(for: .milliseconds(300))
        try put(0..<middle, into: descriptor)
    }

    /// Writes through a mapping that outlives the descriptor.
    private func mapped() async throws {
        let descriptor = try create()
        guard ftruncate(descriptor, bytes.count) == 0 else { throw Surprise("ftruncate: errno \(errno)") }
        let map = mmap(nil, bytes.count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        close(descriptor)
        guard let map, map != MAP_FAILED else { throw Surprise("mmap: errno \(errno)") }
        defer { munmap(map, bytes.count) }
        for half in 0..<2 {
            let start = half * bytes.count / 2
            let end = half == 0 ? bytes.count / 2 : bytes.count
            bytes[start..<end].withUnsafeBytes {
                map.advanced(by: start).copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(map), byteCount: $0.count)
            }
            try await Task.sleep(for: .milliseconds(300))
        }
    }

    /// Writes an unnamed file and links it when complete (man 2 open, O_TMPFILE).
    private func unnamed() throws {
        // linux/fcntl.h: O_TMPFILE combines __O_TMPFILE and O_DIRECTORY; Swift's importer cannot handle the macro.
        let descriptor = open(outbox, O_WRONLY | O_CLOEXEC | O_DIRECTORY | 0o20_000_000, 0o644)
        guard descriptor >= 0 else { throw Surprise("O_TMPFILE: errno \(errno)") }
        defer { close(descriptor) }
        try put(0..<bytes.count, into: descriptor)
        guard linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 else {
            throw Surprise("linkat: errno \(errno)")
        }
    }

    private func movedTree() throws -> [(name: String, key: String)] {
        let tree = "\(elsewhere)/\(name).d"
        try Files.makeDirectory("\(tree)/deep/deeper")
        let places = ["a.jpg", "deep/b.jpg", "deep/deeper/c.jpg"]
        var written: [(name: String, key: String)] = []
        for (index, place) in places.enumerated() {
            let content = bytes + [UInt8(index)]
            try Files.write(content, to: "\(tree)/\(place)")
            written.append(("\(name).d/\(place)", Digest.md5(content)))
        }
        try Files.rename(tree, to: "\(outbox)/\(name).d")
        return written
    }

    private func source() throws -> String {
        let source = "\(elsewhere)/source-\(name)"
        try Files.write(bytes, to: source)
        return source
    }

    private func program(_ path: String, _ arguments: [String]) async throws {
        let output = try await Program.run(
            path, arguments, environment: ["PATH": "/usr/bin:/bin", "HOME": elsewhere], directory: elsewhere)
        guard output.code == 0 else { throw Surprise("\(path): \(output.standardError)") }
    }

    /// Encodes a video directly into the outbox: head, tail and index are written at different times.
    private func ffmpeg() async throws -> [(name: String, key: String)] {
        let video = "\(name).mp4"
        try await program(
            "/usr/bin/ffmpeg",
            [
                "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i",
                "testsrc=duration=1:size=160x120:rate=10", "-c:v", "mpeg4",
                "-metadata", "title=\(name)", "-y", "\(outbox)/\(video)",
            ])
        return [(video, try Digest.md5(file: "\(outbox)/\(video)"))]
    }
}
