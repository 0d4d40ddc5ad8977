import Reports
import Testing
import UploadCore

@testable import Console

@Suite("A mirror of the agent's files")
struct MirrorTests {
    @Test("files no longer under way are named by their ids")
    func vanished() throws {
        var mirror = Mirror<FileEntry>()
        #expect(mirror.replaceActive([try entry("a", "queued"), try entry("b", "uploading")]) == [])
        #expect(mirror.replaceActive([try entry("b", "uploading"), try entry("c", "queued")]) == ["id of a"])
        #expect(mirror.active.map(\.path) == ["b", "c"])
    }

    @Test("the outcome of a file is kept")
    func ended() throws {
        var mirror = Mirror<FileEntry>()
        _ = mirror.replaceActive([try entry("a", "queued"), try entry("b", "queued")])
        _ = mirror.replaceActive([])
        mirror.replace("id of a", with: try entry("a", "done"))
        mirror.replace("id of b", with: nil)
        #expect(mirror.entries.map(\.state) == ["done"])
        #expect(mirror.active == [])
        #expect(mirror.replaceActive([]) == [])
    }

    @Test("a whole list replaces all entries")
    func all() throws {
        var mirror = Mirror<FileEntry>()
        _ = mirror.replaceActive([try entry("a", "queued")])
        mirror.replaceAll([try entry("b", "done"), try entry("c", "waiting")])
        #expect(Set(mirror.entries.map(\.path)) == ["b", "c"])
        #expect(mirror.replaceActive([]) == ["id of c"])
    }

    @Test("the requested states are those that are not final")
    func states() {
        #expect(Mirror<FileEntry>.activeStates.allSatisfy { !$0.isFinal })
        #expect(Mirror<FileEntry>.activeStates.count == 8)
    }
}
