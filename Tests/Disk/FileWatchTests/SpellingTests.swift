import Glibc
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import FileWatch

/// File systems that ignore case find a file under its old name after a rename that changes only the case.
@Suite struct SpellingTests {
    @Test func `a file renamed to another case is not taken under its old name again`() async throws {
        let isHidden = Mutex(false)
        var kernel = Kernel()
        kernel.lists = { _, path in path.description != "IMG.JPG" }
        let options = FileWatch.Options.quick(
            settle: .seconds(2), isIgnored: { path, _ in path.description == "IMG.JPG" && isHidden.withLock(\.self) })
        let outbox = try Outbox(options, kernel: kernel)
        try await outbox.start()
        try outbox.write("IMG.JPG")
        try await outbox.sees("ready IMG.JPG")
        #expect(rename(outbox.path("IMG.JPG"), outbox.path("img.jpg")) == 0)
        try await outbox.sees("renamed IMG.JPG img.jpg")
        // A hard link stands in for the other spelling. No event tells of one.
        isHidden.withLock { $0 = true }
        #expect(link(outbox.path("img.jpg"), outbox.path("IMG.JPG")) == 0)
        try outbox.write("marker")
        try await outbox.sees("seen marker")
        isHidden.withLock { $0 = false }
        try await outbox.sees("ready img.jpg")
        try await outbox.sees("ready marker")
        #expect(outbox.story.count { $0 == "ready IMG.JPG" } == 1)
    }
}
