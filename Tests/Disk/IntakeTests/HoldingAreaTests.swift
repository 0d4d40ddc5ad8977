import Foundation
import Glibc
import LinuxSystem
import SystemPackage
import TestSupport
import Testing
import UploadCore

@testable import Intake

@Suite("Holding area")
struct HoldingAreaTests {
    private let place: TemporaryDirectory
    private let area: HoldingArea
    private let path: RelativePath

    /// The uid of another user. Only root can give files to this user.
    private static let stranger: uid_t = 12345
    private static let isRoot = geteuid() == 0

    init() throws {
        place = try TemporaryDirectory()
        area = HoldingArea(root: PinnedDirectory(path: place.path("box")))
        path = try #require(RelativePath("trip/a.jpg"))
        try make("box/trip")
        try Data("picture".utf8).write(to: URL(fileURLWithPath: place.path("box/trip/a.jpg")))
    }

    @Test("takes a file into a private directory, and gives the file back")
    func takes() throws {
        #expect(try area.take(path, identity()))
        #expect(try FileStatus(path: place.path("box/.outbox-holding")).permissions == 0o700)
        #expect(exists("box/.outbox-holding/trip/a.jpg") && !exists("box/trip/a.jpg"))
        #expect(area.recover(except: []).files == [path])
        #expect(exists("box/trip/a.jpg") && !exists("box/.outbox-holding"))
        #expect(area.obstacle(to: try relative("Sent/trip/a.jpg")) == nil)
    }

    @Test("restores an earlier file of the same name before taking the next one")
    func takesAgain() throws {
        #expect(try area.take(path, identity()))
        try Data("another".utf8).write(to: URL(fileURLWithPath: place.path("box/trip/a.jpg")))
        #expect(try area.take(path, identity()))
        #expect(exists("box/trip/a (2).jpg") && exists("box/.outbox-holding/trip/a.jpg"))
        try area.release(path, to: relative("Sent/trip/a.jpg"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: place.path("box/Sent/trip/a.jpg"))) == Data("another".utf8))
    }

    @Test("never follows a symbolic link planted in its place")
    func plantedLink() throws {
        try make("outside")
        chmod(place.path("outside"), 0o755)
        try link("box/.outbox-holding", to: place.path("outside"))
        #expect(throws: Errno.tooManySymbolicLinkLevels) { _ = try area.take(path, identity()) }
        #expect(try FileStatus(path: place.path("outside")).permissions == 0o755)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path("outside")).isEmpty)
        #expect(exists("box/trip/a.jpg"))
        #expect(area.obstacle(to: nil)?.contains("remove it") == true)
    }

    @Test("never moves a file through a symbolic link planted at the destination")
    func plantedTarget() throws {
        try make("outside")
        try link("box/Sent", to: place.path("outside"))
        #expect(try area.take(path, identity()))
        #expect(throws: Errno.tooManySymbolicLinkLevels) { try area.release(path, to: relative("Sent/trip/a.jpg")) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path("outside")).isEmpty)
        #expect(try area.putBack(path) == path)
    }

    @Test("takes no file into a directory of another user", .enabled(if: isRoot, "only root gives files away"))
    func foreignArea() throws {
        // The holding area trusts root and the owner of the outbox. In this test, root is both.
        try make("box/.outbox-holding")
        #expect(chown(place.path("box/.outbox-holding"), Self.stranger, Self.stranger) == 0)
        #expect(throws: Errno.notPermitted) { _ = try area.take(path, identity()) }
        #expect(exists("box/trip/a.jpg"))
        #expect(area.obstacle(to: nil)?.contains("uid 12345") == true)
    }

    @Test(
        "moves a file into another user's directory only if that user owns the file",
        .enabled(if: isRoot, "only root gives files away"))
    func foreignTarget() throws {
        try make("box/Sent")
        #expect(chown(place.path("box/Sent"), Self.stranger, Self.stranger) == 0)
        #expect(try area.take(path, identity()))
        #expect(throws: Errno.notPermitted) { try area.release(path, to: relative("Sent/trip/a.jpg")) }
        #expect(chown(place.path("box/.outbox-holding/trip/a.jpg"), Self.stranger, Self.stranger) == 0)
        try area.release(path, to: relative("Sent/trip/a.jpg"))
        #expect(exists("box/Sent/trip/a.jpg"))
    }

    @Test("does nothing in another directory that takes the outbox's place")
    func otherOutbox() throws {
        let identity = try identity()
        #expect(try area.take(path, identity))
        #expect(rename(place.path("box"), place.path("away")) == 0)
        try make("box/trip")
        #expect(throws: Errno.staleNFSFileHandle) { _ = try area.putBack(path) }
        #expect(throws: Errno.staleNFSFileHandle) { _ = try area.take(path, identity) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path("box")) == ["trip"])
    }

    private func identity() throws -> FileIdentity {
        FileIdentity(try FileStatus(path: place.path("box/trip/a.jpg")))
    }

    private func relative(_ text: String) throws -> RelativePath { try #require(RelativePath(text)) }

    private func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: place.path(name)) }

    private func make(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: place.path(name), withIntermediateDirectories: true)
    }

    private func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: place.path(name), withDestinationPath: target)
    }
}
