import LinuxSystem
import TestSupport
import Text
import Testing
import UploadCore

@testable import Intake

@Suite("Intake rules")
struct IntakeRulesTests {
    private let rules = IntakeRules(
        mediaOnly: true, maxFileSize: 100, ignore: GlobPattern.unfinishedFiles, moveTo: RelativePath("Sent"))

    @Test(
        "ignore hidden files, unfinished files, sidecars and moved files",
        arguments: [
            ("a.jpg", false), ("trip/a.jpg", false), (".hidden", true), ("trip/.hidden.jpg", true), ("a.part", true),
            ("a.partial", true), ("a.crdownload", true), ("a.tmp", true), ("a.jpg~", true), ("a.jpg.outbox.json", true),
            ("trip/a.jpg (2).outbox.json", true), (".outbox.json", true), ("outbox.json", false), ("Sent", true),
            ("Sent/a.jpg", true), ("Sent/x/a.jpg", true), ("Sentimental/a.jpg", false), ("trip/Sent/a.jpg", false),
        ])
    func ignored(path: String, isIgnored: Bool) throws {
        #expect(rules.isIgnored(try #require(RelativePath(path))) == isIgnored)
    }

    @Test("give reasons that the manual explains", arguments: IntakeRules.Reason.allCases)
    func reasons(reason: IntakeRules.Reason) throws {
        let manual = try Repository.text("docs/errors.md")
        let isExplained = manual.contains("| `\(reason.rawValue)` |")
        #expect(isExplained, "add a row for `\(reason.rawValue)` to docs/errors.md")
    }

    @Test("always ignore sidecars and their temporary files")
    func ownFiles() throws {
        let bare = IntakeRules(mediaOnly: false, maxFileSize: 1, ignore: [], moveTo: nil)
        let temporary = SidecarName.temporary(for: Array("a.jpg".utf8))
        #expect(bare.isIgnored(try #require(RelativePath(temporary))))
        #expect(bare.isIgnored(try #require(RelativePath("a.jpg.outbox.json"))))
        #expect(!bare.isIgnored(try #require(RelativePath(".hidden"))))
    }

    @Test(
        "object to sizes",
        arguments: [(0, "empty"), (1, nil), (100, nil), (101, "too_large"), (.max, "too_large")]
            as [(UInt64, String?)])
    func sizes(size: UInt64, code: String?) {
        #expect(rules.objection(toSize: size)?.code == code)
    }

    @Test("object to files other than pictures and videos, unless every type is allowed")
    func types() {
        #expect(rules.objection(toType: .other)?.code == "unsupported_type")
        #expect(rules.objection(toType: MediaType(kind: .image, mime: "image/png")) == nil)
        #expect(rules.objection(toType: MediaType(kind: .video, mime: "video/mp4")) == nil)
        let any = IntakeRules(mediaOnly: false, maxFileSize: 1, ignore: [], moveTo: nil)
        #expect(any.objection(toType: .other) == nil)
    }

    @Test("name an unsupported picture format, with advice")
    func unknownPicture() {
        let objection = rules.objection(toType: .other, picture: "JPEG 2000")
        #expect(objection?.code == "unsupported_type")
        #expect(objection?.message.hasPrefix("JPEG 2000 pictures are not taken; convert") == true)
    }

    @Test(
        "object to files that are not regular",
        arguments: [
            (.symbolicLink, "symlink"), (.fifo, "not_regular_file"), (.socket, "not_regular_file"),
            (.device, "not_regular_file"),
        ] as [(FileStatus.Kind, String)])
    func kinds(kind: FileStatus.Kind, code: String) {
        let objection = IntakeRules.objection(toKind: kind)
        #expect(objection.code == code)
        #expect(!objection.retryable)
    }

    @Test("have a different fingerprint for different verdicts")
    func fingerprint() {
        var other = rules
        other.maxFileSize = 101
        #expect(other.fingerprint != rules.fingerprint)
        other = rules
        other.mediaOnly = false
        #expect(other.fingerprint != rules.fingerprint)
    }
}
