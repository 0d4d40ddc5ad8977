import Testing

@testable import UploadCore

/// File systems that treat names and inodes in their own way.
@Suite struct OddFileSystemTests {
    private let path: RelativePath = "IMG.JPG"
    private var stage = PathStage()

    init() {
        stage.handle(.scanned(PathFindings(paths: [])))
        stage.write(path, 1)
        stage.tellNext()
        stage.pass(.seconds(5))
        stage.tellNext()
        stage.hash()
        stage.confirm(PathStage.key(1))
    }

    @Test mutating func `a name that only another spelling explains is gone`() {
        #expect(stage.record(path)?.state == .done)
        stage.files["img.jpg"] = stage.files[path]
        stage.otherSpellings = [path]
        let findings = PathFindings(paths: ["img.jpg"])
        stage.handle(.scanned(findings))
        stage.handle(.compared(Array(stage.ledger.values), with: findings))
        stage.pass(.seconds(3))
        stage.tick()
        #expect(stage.record(path) == nil)
    }

    @Test mutating func `an uploaded file whose inode number changed on its own stays done`() throws {
        stage.files[path]?.identity.inode += 1_000_000
        let file = try #require(stage.files[path])
        stage.handle(.seen(path))
        stage.handle(.ready(path, file.identity, objection: nil))
        #expect(stage.record(path)?.state == .done && stage.book.drops[path] == nil)
        stage.hash()
        #expect(stage.record(path)?.state == .done && stage.record(path)?.identity == file.identity)
    }
}
