import Foundation
import LinuxSystem
import SystemPackage
import TestSupport
import Testing

@Suite("Replacing a file, and reading to the end")
struct ReplaceTests {
    @Test("replaces the content, with the requested mode")
    func replaces() throws {
        let place = try TemporaryDirectory()
        let directory = try Directory(path: place.path)
        try directory.replace("token", with: Array("old".utf8), mode: 0o600)
        try directory.replace("token", with: Array("new".utf8), mode: 0o600)
        #expect(try Data(contentsOf: URL(fileURLWithPath: place.path("token"))) == Data("new".utf8))
        let attributes = try FileManager.default.attributesOfItem(atPath: place.path("token"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try directory.entries().map { String(decoding: $0.name, as: UTF8.self) } == ["token"])
    }

    @Test("works after a kill left half a file behind")
    func leftover() throws {
        let place = try TemporaryDirectory()
        try Data("half".utf8).write(to: URL(fileURLWithPath: place.path(".unit.new")))
        try Directory(path: place.path).replace("unit", with: Array("whole".utf8), mode: 0o644)
        #expect(try Data(contentsOf: URL(fileURLWithPath: place.path("unit"))) == Data("whole".utf8))
    }

    @Test("a failure leaves neither half a file nor its name")
    func failure() throws {
        let place = try TemporaryDirectory()
        let directory = try Directory(path: place.path)
        try FileManager.default.createDirectory(atPath: place.path("name"), withIntermediateDirectories: false)
        #expect(throws: Errno.isDirectory) { try directory.replace("name", with: [1], mode: 0o644) }
        #expect(try directory.entries().map { String(decoding: $0.name, as: UTF8.self) } == ["name"])
    }

    @Test("a pipe is read in small pieces to its end, or to the limit")
    func pipeToItsEnd() throws {
        let pipe = Pipe()
        let whole = [UInt8](repeating: 7, count: 200_000)
        Thread.detachNewThread {
            for start in stride(from: 0, to: whole.count, by: 1000) {
                pipe.fileHandleForWriting.write(Data(whole[start..<start + 1000]))
            }
            try? pipe.fileHandleForWriting.close()
        }
        let reading = pipe.fileHandleForReading.fileDescriptor
        #expect(try readAll(from: reading, atMost: 1500) == Array(whole.prefix(1500)))
        #expect(try readAll(from: reading) == Array(whole.dropFirst(1500)))
    }
}
