import FileWatch
import Testing
import UploadCore

@testable import Agent

@Suite("Queued renames")
struct FoldingTests {
    private func event(_ text: String) throws -> WatchEvent {
        let words = text.split(separator: " ").map(String.init)
        let path = try #require(RelativePath(words[1]))
        guard words.count > 2 else { return words[0] == "seen" ? .seen(path) : .gone(path) }
        let new = try #require(RelativePath(words[2]))
        return .renamed(from: path, to: new, isDirectory: words[0] == "dir")
    }

    @Test(
        "fold if no event between them concerns the same paths",
        arguments: [
            (["dir a b", "dir b a"], []),
            (["dir a b", "dir b c"], ["dir a c"]),
            (["dir a b", "dir b c", "dir c a"], []),
            (["dir a b", "dir b a", "dir a b"], ["dir a b"]),
            (["dir a b", "seen x/y", "dir b a"], ["seen x/y"]),
            (["dir a b", "dir p q", "dir b a", "dir q p"], []),
            (["dir a b", "seen b/y", "dir b c"], ["dir a b", "seen b/y", "dir b c"]),
            (["dir a b", "seen a", "dir b a"], ["dir a b", "seen a", "dir b a"]),
            (["dir a b", "gone c", "dir b c"], ["dir a b", "gone c", "dir b c"]),
            (["dir d/a b", "dir d e", "dir b d/a"], ["dir d/a b", "dir d e", "dir b d/a"]),
            (["file a b", "file b a"], ["file a b", "file b a"]),
            (["file a b", "dir b a"], ["file a b", "dir b a"]),
        ])
    func table(told: [String], left: [String]) throws {
        var waiting: [WatchEvent] = []
        for event in try told.map(event) where !WatchEvent.fold(event, into: &waiting) { waiting.append(event) }
        #expect(waiting == (try left.map(event)))
    }
}
