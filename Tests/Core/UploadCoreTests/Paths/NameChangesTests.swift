import Testing

@testable import UploadCore

@Suite("Names that appear and vanish")
struct NameChangesTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)
    private let grace = Duration.seconds(2)
    private let old: RelativePath = "old"
    private let new: RelativePath = "new"

    private func file(_ inode: UInt64, changed: Int64 = 5) -> FileIdentity {
        FileIdentity(device: 1, inode: inode, size: 10, modified: 3, changed: changed, born: 2)
    }

    @Test("a name counts as removed after its grace, exactly once")
    func grace_() {
        var names = NameChanges(grace: grace)
        names.leaves(old, file: file(1), now: start)
        #expect(names.nextDeadline == start + grace)
        #expect(names.takeDue(now: start + .milliseconds(1999)) == [])
        #expect(names.takeDue(now: start + grace) == [old])
        #expect(names.takeDue(now: start + grace + grace) == [])
        #expect(names.nextDeadline == nil)
    }

    @Test("a name back within the grace does not count, and may vanish again")
    func back() {
        var names = NameChanges(grace: grace)
        names.leaves(old, file: nil, now: start)
        names.stays(old)
        #expect(!names.isLeaving(old))
        names.leaves(old, file: nil, now: start + .seconds(1))
        #expect(names.takeDue(now: start + grace) == [])
        #expect(names.takeDue(now: start + .seconds(3)) == [old])
    }

    @Test("the file of a vanished name is found under its new name, regardless of its ctime")
    func former() {
        var names = NameChanges(grace: grace)
        names.leaves(old, file: file(1), now: start)
        #expect(names.formerName(of: file(1, changed: 99)) == old)
        #expect(names.formerName(of: file(2)) == nil)
        names.stays(old)
        #expect(names.formerName(of: file(1)) == nil)
    }

    @Test("a removal does not count while the file is being checked under another name")
    func putOff() {
        var names = NameChanges(grace: grace)
        names.arrives(new, file: file(1, changed: 7))
        names.leaves(old, file: file(1), now: start)
        #expect(names.takeDue(now: start + grace) == [])
        #expect(names.isLeaving(old))
        names.forgetArrival(new)
        #expect(names.takeDue(now: start + grace + grace) == [old])
    }

    @Test("many names vanish and return without leftover entries")
    func many() throws {
        var names = NameChanges(grace: grace)
        for index in 0..<5000 {
            let path = try #require(RelativePath("d/\(index)"))
            names.leaves(path, file: file(UInt64(index)), now: start)
            if index.isMultiple(of: 2) { names.stays(path) }
        }
        #expect(names.takeDue(now: start + grace).count == 2500)
        #expect(names.formerName(of: file(1)) == nil)
        #expect(names.nextDeadline == nil)
    }
}
