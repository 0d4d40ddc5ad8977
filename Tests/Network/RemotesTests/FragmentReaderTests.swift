import Digests
import Foundation
import Testing
import Transport
import UploadCore

@testable import Remotes

@Suite("Reading a fragment while it is sent")
struct FragmentReaderTests {
    private static let block = BlockDigester.blockSize

    /// Reads to the end in pieces, like a transport.
    private func readAll(_ reader: any BodySource, pieces: Int = 100_000) throws -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: pieces)
        while true {
            let count = try buffer.withUnsafeMutableBytes { try reader.read(into: $0) }
            if count == 0 { return all }
            all += buffer[..<count]
        }
    }

    @Test("reads exactly the fragment's bytes", arguments: [1000, 100_000, 4 * block])
    func good(pieces: Int) throws {
        let content = try TestContent(1, size: Self.block * 2 + 777)
        for index in 0..<3 {
            let reader = try content.reader(of: index)
            let range = content.plan.range(of: index)
            #expect(reader.length == UInt64(range.count))
            #expect(
                try readAll(reader, pieces: pieces)
                    == Array(content.bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
        }
    }

    @Test("compares a content of one block with its seal", arguments: [0, 1, 1000, block])
    func oneBlock(size: Int) throws {
        let content = try TestContent(1, size: size)
        #expect(content.seal.isOfOneBlock)
        #expect(try readAll(content.reader(of: 0)) == content.bytes)
        guard size > 0 else { return }
        try content.flip(at: size - 1)
        let reader = try content.reader(of: 0)
        #expect(throws: SourceProblem(path: content.path, kind: .changed)) { try readAll(reader) }
    }

    @Test("never passes on a whole changed block", arguments: [block, block + 1, 2 * block - 1])
    func changed(offset: Int) throws {
        let content = try TestContent(1, size: Self.block * 3)
        try content.flip(at: offset)
        let reader = try content.reader(of: 1)
        #expect(throws: SourceProblem(path: content.path, kind: .changed)) { try readAll(reader) }
        #expect(try readAll(content.reader(of: 0)).count == Self.block)
        #expect(try readAll(content.reader(of: 2)).count == Self.block)
    }

    @Test(
        "checks every block of a longer fragment", arguments: [0, block, 2 * block - 1, 2 * block, 2 * block + 9])
    func severalBlocks(offset: Int) throws {
        let content = try TestContent(1, size: Self.block * 2 + 10, fragmentSize: UInt32(4 * Self.block))
        #expect(try readAll(content.reader(of: 0)) == content.bytes)
        try content.flip(at: offset)
        let reader = try content.reader(of: 0)
        #expect(throws: SourceProblem(path: content.path, kind: .changed)) { try readAll(reader) }
    }

    @Test("a file that shrank counts as changed", arguments: [0, block - 1, block])
    func shrunk(size: Int) throws {
        let content = try TestContent(1, size: Self.block + 5)
        try FileHandle(forWritingTo: URL(fileURLWithPath: content.file)).truncate(atOffset: UInt64(size))
        let reader = try content.reader(of: 1)
        #expect(throws: SourceProblem(path: content.path, kind: .changed)) { try readAll(reader) }
    }

    @Test("bytes added after the content do not matter")
    func grown() throws {
        let content = try TestContent(1, size: 1000)
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: content.file))
        try handle.seekToEnd()
        try handle.write(contentsOf: [1, 2, 3])
        #expect(try readAll(content.reader(of: 0)) == content.bytes)
    }

    @Test("starts over after a rewind in the middle")
    func rewind() throws {
        let content = try TestContent(1, size: Self.block + 5)
        let reader = try content.reader(of: 0)
        var buffer = [UInt8](repeating: 0, count: 1000)
        _ = try buffer.withUnsafeMutableBytes { try reader.read(into: $0) }
        reader.rewind()
        #expect(try readAll(reader) == Array(content.bytes[..<Self.block]))
        reader.rewind()
        #expect(try readAll(reader).count == Self.block)
    }

    @Test("the rest of a fragment is read without its first bytes", arguments: [0, 1, 100_000, 524_288, 600_000])
    func rest(skip: Int) throws {
        let content = try TestContent(1, size: Self.block + 10, fragmentSize: UInt32(2 * Self.block))
        let body = SkippingBody(try content.reader(of: 0), skip: UInt64(skip))
        let expected = Array(content.bytes.dropFirst(skip))
        #expect(body.length == UInt64(expected.count))
        for _ in 0..<2 {
            #expect(try readAll(body) == expected)
            try body.rewind()
        }
    }

    @Test(
        "a part holds the bytes between two offsets, and reads no other blocks",
        arguments: [
            (from: 0, to: nil), (1000, nil), (block, nil), (block + 1, nil), (3 * block - 1, nil),
            (3 * block + 10, nil),
            (0, block), (5, 2 * block), (block, 2 * block), (2 * block + 77, 3 * block), (9, 8 * block),
        ] as [(from: Int, to: Int?)])
    func part(from start: Int, to end: Int?) throws {
        let content = try TestContent(1, size: Self.block * 3 + 10, fragmentSize: UInt32(4 * Self.block))
        let upper = min(end ?? content.bytes.count, content.bytes.count)
        // Changes in other blocks do not matter.
        let blocks = start / Self.block..<(upper + Self.block - 1) / Self.block
        for other in 0..<4 where !blocks.contains(other) { try content.flip(at: other * Self.block) }
        let body = try content.reader(of: 0).part(from: UInt64(start), to: end.map(UInt64.init))
        #expect(body.length == UInt64(upper - start))
        for _ in 0..<2 {
            #expect(try readAll(body) == Array(content.bytes[start..<upper]))
            try body.rewind()
        }
    }

    @Test(
        "a checked body hands out whole checked blocks only", arguments: [1000, 100_000, 4 * block], [0, 5, block + 5])
    func checked(pieces: Int, skip: Int) throws {
        let content = try TestContent(1, size: Self.block * 3 + 10, fragmentSize: UInt32(4 * Self.block))
        let body = CheckedBody(try content.reader(of: 0).part(from: UInt64(skip)))
        #expect(body.length == UInt64(content.bytes.count - skip))
        var buffer = [UInt8](repeating: 0, count: pieces)
        _ = try buffer.withUnsafeMutableBytes { try body.read(into: $0) }
        for _ in 0..<2 {
            try body.rewind()
            #expect(try readAll(body, pieces: pieces) == Array(content.bytes[skip...]))
        }
        try content.flip(at: 3 * Self.block - 1)
        try body.rewind()
        var count = 0
        #expect(throws: SourceProblem(path: content.path, kind: .changed)) {
            while true { count += try buffer.withUnsafeMutableBytes { try body.read(into: $0) } }
        }
        #expect(count == 2 * Self.block - skip)
    }

    @Test("a change within the skipped bytes is noticed")
    func changedSkippedByte() throws {
        let content = try TestContent(1, size: Self.block + 10, fragmentSize: UInt32(2 * Self.block))
        try content.flip(at: 5)
        let body = SkippingBody(try content.reader(of: 0), skip: 100_000)
        #expect(throws: SourceProblem(path: content.path, kind: .changed)) { try readAll(body) }
    }
}
