import Foundation
import Logging
import TestSupport
import Testing
import UploadCore

@testable import ControlAPI

@Suite("The placeholder")
struct PlaceholderPictureTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory(prefix: "placeholder")
    }

    /// One pixel.
    private static let gif = Data(base64Encoded: "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7") ?? Data()

    private func file(_ bytes: Data) throws -> String {
        let path = directory.path("picture")
        try bytes.write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test("The built-in picture is a PNG")
    func builtIn() {
        #expect(MediaSignatures.sniff(PlaceholderPicture.builtIn.bytes)?.mime == "image/png")
    }

    @Test("The type of a configured picture is detected by its first bytes, not by its name")
    func configured() throws {
        let picture = try PlaceholderPicture(path: try file(Self.gif))
        #expect(picture.type == "image/gif")
        #expect(picture.bytes == Array(Self.gif))
    }

    @Test("A picture is refused if browsers can't show it, if it is too large or unreadable")
    func unusable() throws {
        let text = try file(Data("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8))
        #expect(throws: PlaceholderPicture.Unusable.self) { try PlaceholderPicture(path: text) }
        let long = try file(Self.gif + Data(count: Int(PlaceholderPicture.longest)))
        #expect(throws: PlaceholderPicture.Unusable.self) { try PlaceholderPicture(path: long) }
        #expect(throws: PlaceholderPicture.Unusable.self) { try PlaceholderPicture(path: directory.path("none")) }
        #expect(throws: PlaceholderPicture.Unusable.self) { try PlaceholderPicture(path: directory.path("")) }
    }

    @Test("The built-in picture replaces an unusable one")
    func fallback() {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        #expect(PlaceholderPicture.load(path: directory.path("none"), logger: logger) == .builtIn)
        #expect(PlaceholderPicture.load(path: nil, logger: logger) == .builtIn)
    }
}
