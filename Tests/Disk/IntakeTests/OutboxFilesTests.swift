import Foundation
import LinuxSystem
import SystemPackage
import TestSupport
import Testing
import UploadCore

@testable import Intake

@Suite("Outbox files")
struct OutboxFilesTests {
    private let place: TemporaryDirectory
    private let files: OutboxFiles

    init() throws {
        place = try TemporaryDirectory()
        files = OutboxFiles(root: place.path("outbox"))
        try FileManager.default.createDirectory(atPath: place.path("outbox/trip"), withIntermediateDirectories: true)
        try Data("inside".utf8).write(to: URL(fileURLWithPath: place.path("outbox/trip/a")))
        try Data("outside".utf8).write(to: URL(fileURLWithPath: place.path("secret")))
    }

    @Test("open below the outbox")
    func opens() throws {
        let (file, status) = try files.open(try path("trip/a"))
        #expect(status.size == 6)
        #expect(try FileStatus(of: file.rawValue) == status)
    }

    @Test("never open through a symbolic link")
    func links() throws {
        try FileManager.default.createSymbolicLink(atPath: place.path("outbox/l"), withDestinationPath: "../secret")
        try FileManager.default.createSymbolicLink(atPath: place.path("outbox/d"), withDestinationPath: "trip")
        #expect(throws: Errno.invalidArgument) { try files.open(try path("l")) }
        #expect(throws: Errno.tooManySymbolicLinkLevels) { try files.open(try path("d/a")) }
        #expect(try files.status(of: try path("l")).kind == .symbolicLink)
    }

    @Test("open only if regular")
    func regular() throws {
        #expect(mkfifo(place.path("outbox/pipe"), 0o600) == 0)
        #expect(throws: Errno.invalidArgument) { try files.open(try path("pipe")) }
        #expect(throws: Errno.invalidArgument) { try files.open(try path("trip")) }
    }

    @Test("are looked up each time, so that an outbox may vanish and return")
    func comesBack() throws {
        #expect(rename(place.path("outbox"), place.path("away")) == 0)
        #expect(throws: Errno.noSuchFileOrDirectory) { try files.status(of: try path("trip/a")) }
        #expect(rename(place.path("away"), place.path("outbox")) == 0)
        #expect(try files.status(of: try path("trip/a")).size == 6)
    }

    private func path(_ text: String) throws -> RelativePath { try #require(RelativePath(text)) }
}
