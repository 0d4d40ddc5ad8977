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

    @Test("a file that may be missing only because the list is cut has not vanished")
    func cut() throws {
        var mirror = Mirror<FileEntry>()
        _ = mirror.replaceActive([try entry("a", "queued"), try entry("b", "uploading"), try entry("c", "queued")])
        #expect(mirror.replaceActive([try entry("c", "queued")], cutStates: ["queued"]) == ["id of b"])
        // The upload of b was interrupted: b is queued again, and not listed.
        mirror.replace("id of b", with: try entry("b", "queued"))
        #expect(mirror.replaceActive([try entry("c", "queued")], cutStates: ["queued"]) == [])
        #expect(mirror.entries.map(\.path) == ["c"])
        #expect(mirror.replaceActive([]) == ["id of c"])
    }

    @Test("the number of finished files comes from the agent's counts, without files that were read")
    func finishedCount() {
        var finished = FinishedCount()
        // All final files, those read after the count, and the further ones.
        let polls = [(500, 0, 0), (500, 0, 0), (530, 10, 20), (530, 3, 0), (533, 0, 0), (400, 0, 0), (401, 0, 1)]
        for (index, (count, read, further)) in polls.enumerated() {
            #expect(finished.further(count, besides: read) == further, "poll \(index)")
        }
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
        #expect(Mirror<FileEntry>.activeStates.count == 9)
    }
}
