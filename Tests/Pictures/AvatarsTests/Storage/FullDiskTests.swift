import Foundation
import Glibc
import TestSupport
import Testing
import UploadCore

@testable import Avatars

@Suite(.enabled(if: getuid() == 0, "mounting a small tmpfs needs root"))
struct `The mirror on a full disk` {
    @Test func `a full disk keeps what was, says what to do, and can be trimmed`() throws {
        let directory = try TemporaryDirectory()
        let disk = directory.path("disk")
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: false)
        try #require(run("/usr/bin/mount", "-t", "tmpfs", "-o", "size=1m", "none", disk) == 0)
        defer { _ = run("/usr/bin/umount", "-l", disk) }

        let store = try DiskAvatarStore(directory: disk + "/avatars")
        let address = try AvatarAddress("http://h/a")
        let original = try store.keep(store.draft("one"), asOriginalOf: address, .sample(address, tag: "one"))
        _ = try store.keep(store.draft("drawn"), asStyled: address, .small, drawnFrom: original)
        let drafts = [try store.draft("two"), try store.draft("three")]
        _ = run("/usr/bin/dd", "if=/dev/zero", "of=\(disk)/filler", "bs=4k")

        let error = try #require(throws: AvatarStoreError.self) {
            try store.keep(drafts[0], asOriginalOf: address, .sample(address, tag: "two"))
        }
        #expect(
            error.description
                == "the picture of http://h/a can't be stored in \(disk)/avatars: No space left on device; free disk space, or lower avatar_cache.max_size"
        )
        #expect(throws: AvatarStoreError.self) {
            try store.keep(drafts[1], asStyled: address, .round, drawnFrom: original)
        }
        #expect(try store.original(of: address)?.picture.text == "one")
        #expect(try store.original(of: address)?.record.entityTag == "one")
        #expect(try store.styled(address, .small)?.text == "drawn")
        let now = WallTime(milliseconds: 2000)
        #expect(try store.trim(maximumSize: 0, maximumAge: nil, now: now, sparing: { _ in false }).removed == [address])
    }

    private func run(_ program: String, _ arguments: String...) -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return -1 }
        process.waitUntilExit()
        return process.terminationStatus
    }
}
