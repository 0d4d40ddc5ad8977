import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// Slow ways to write a file into the outbox; the name appears while the writer is still at work.
enum OddWriter: CaseIterable {
    /// Writes in place, with pauses longer than the settling time, like scp and ffmpeg.
    case pausing
    /// Opens and closes the file for each part, like `>>` in a loop.
    case reopening
    /// Writes through a mapping after the descriptor was closed.
    case mapping
    /// Links a file into the outbox that is still written outside.
    case linking
    /// Gives an unnamed file a name before it is complete (man 2 open, O_TMPFILE).
    case naming
    /// Moves a tree into the outbox while it writes a file in the tree.
    case movingTree
    /// Renames the directory of the file during the write.
    case renamingDirectory
    /// Writes a hidden file and renames it over an existing file, like rsync.
    case replacing
    /// Truncates a finished file and writes it again.
    case overwriting

    /// The expected outcome.
    struct Outcome {
        var name: String
        var bytes: [UInt8]
        /// An earlier complete content, which the agent may have uploaded too.
        var earlier: [UInt8]?

        /// Describes which part of this file some objects are; nil if none is.
        func origin(of objects: Set<String>) -> String? {
            let size = bytes.count / OddWriter.parts
            let parts = (0..<OddWriter.parts).flatMap { count in
                let head = Array(bytes[..<(count * size)])
                let zeros = [UInt8](repeating: 0, count: bytes.count - head.count)
                return [("\(count) parts of", head), ("\(count) parts and zeros of", head + zeros)]
            }
            return parts.first { objects.contains(Digest.md5($0.1)) }.map { "\($0.0) \(name)" }
        }
    }

    /// The places of a writer: the outbox, and a directory beside it on the same file system.
    struct Place {
        var outbox: String
        var outside: String

        func path(_ name: String) -> String { "\(outbox)/\(name)" }
    }

    /// A pause longer than the settling time of the agent under test.
    static let pause = Duration.milliseconds(700)
    static let settle = "400ms"

    fileprivate static let parts = 3

    /// Writes a file into the outbox.
    func run(_ place: Place, _ name: String, seed: UInt64) async throws -> Outcome {
        let bytes = SampleMedia.jpeg.bytes(size: 150_000, seed: seed)
        var outcome = Outcome(name: "\(name).jpg", bytes: bytes)
        let path = place.path(outcome.name)
        switch self {
        case .pausing: try await finish(try create(path), bytes)
        case .reopening: try await append(bytes, to: path)
        case .mapping: try await map(bytes, to: path)
        case .linking:
            let outside = "\(place.outside)/outside-\(name)"
            try await finish(try create(outside), bytes) { try check(link(outside, path)) }
        case .naming: try await nameLate(bytes, path, in: place.outbox)
        case .movingTree:
            let outside = "\(place.outside)/tree-\(name)"
            try Files.makeDirectory(outside + "/in")
            outcome.name = "\(name)/in/a.jpg"
            try await finish(try create(outside + "/in/a.jpg"), bytes) {
                try Files.rename(outside, to: place.path(name))
            }
        case .renamingDirectory:
            try Files.makeDirectory(place.path("\(name)-old"))
            outcome.name = "\(name)-new/a.jpg"
            try await finish(try create(place.path("\(name)-old/a.jpg")), bytes) {
                try Files.rename(place.path("\(name)-old"), to: place.path("\(name)-new"))
            }
        case .replacing:
            let hidden = place.path(".\(name).jpg.Xa3f9K")
            outcome.earlier = SampleMedia.jpeg.bytes(size: 120_000, seed: seed ^ 1)
            try Files.write(outcome.earlier ?? [], to: path)
            try await finish(try create(hidden), bytes)
            try Files.rename(hidden, to: path)
        case .overwriting:
            outcome.earlier = SampleMedia.jpeg.bytes(size: 120_000, seed: seed ^ 1)
            try Files.write(outcome.earlier ?? [], to: path)
            try await Task.sleep(for: Self.pause)
            try await finish(try create(path), bytes)
        }
        return outcome
    }

    private func create(_ path: String) throws -> FileHandle {
        let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        try check(descriptor)
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// Writes in parts with pauses, calls `body` after the first part, and closes the file.
    private func finish(_ file: FileHandle, _ bytes: [UInt8], afterFirst body: () throws -> Void = {}) async throws {
        for (index, part) in split(bytes).enumerated() {
            if index > 0 { try await Task.sleep(for: Self.pause) }
            try file.write(contentsOf: part)
            if index == 0 { try body() }
        }
        try file.close()
    }

    private func append(_ bytes: [UInt8], to path: String) async throws {
        var file = try create(path)
        for part in split(bytes) {
            // Open the next descriptor before closing the other: otherwise a delayed writer would look finished.
            let next = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try file.close()
            file = next
            try file.seekToEnd()
            try await Task.sleep(for: Self.pause)
            try file.write(contentsOf: part)
        }
        try file.close()
    }

    private func map(_ bytes: [UInt8], to path: String) async throws {
        let file = try create(path)
        try file.truncate(atOffset: UInt64(bytes.count))
        let memory = mmap(nil, bytes.count, PROT_READ | PROT_WRITE, MAP_SHARED, file.fileDescriptor, 0)
        guard let memory, memory != MAP_FAILED else { throw Surprise("cannot map \(path): \(errno)") }
        try file.close()
        var offset = 0
        for part in split(bytes) {
            try await Task.sleep(for: Self.pause)
            UnsafeMutableRawBufferPointer(start: memory + offset, count: part.count).copyBytes(from: part)
            offset += part.count
        }
        munmap(memory, bytes.count)
    }

    private func nameLate(_ bytes: [UInt8], _ path: String, in directory: String) async throws {
        let unnamed = Int32(0o20_200_000)
        let descriptor = open(directory, unnamed | O_RDWR | O_CLOEXEC, 0o644)
        try check(descriptor)
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try await finish(file, bytes) {
            try check(linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW))
        }
    }

    private func split(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        let size = bytes.count / Self.parts
        return (0..<Self.parts).map { bytes[$0 * size..<($0 == Self.parts - 1 ? bytes.count : ($0 + 1) * size)] }
    }

    private func check(_ result: Int32) throws {
        if result < 0 { throw Surprise("\(self): \(String(cString: strerror(errno)))") }
    }
}
