import Testing

@testable import UploadCore

@Suite("Names that come and go")
struct NameChangesTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)
    private let grace = Duration.seconds(2)
    private let old: RelativePath = "old"
    private let new: RelativePath = "new"

    private func file(_ inode: UInt64, changed: Int64 = 5) -> FileIdentity {
        FileIdentity(device: 1, inode: inode, size: 10, modified: 3, changed: changed, born: 2)
    }

    @Test("a name counts as removed once its grace is over, and once only")
    func grace_() {
        var names = NameChanges(grace: grace)
        names.leaves(old, file: file(1), now: start)
        #expect(names.nextDeadline == start + grace)
        #expect(names.takeDue(now: start + .milliseconds(1999)) == [])
        #expect(names.takeDue(now: start + grace) == [old])
        #expect(names.takeDue(now: start + grace + grace) == [])
        #expect(names.nextDeadline == nil)
    }

    @Test("a name that is back in time does not count, and may go again")
    func back() {
        var names = NameChanges(grace: grace)
        names.leaves(old, file: nil, now: start)
        names.stays(old)
        #expect(!names.isLeaving(old))
        names.leaves(old, file: nil, now: start + .seconds(1))
        #expect(names.takeDue(now: start + grace) == [])
        #expect(names.takeDue(now: start + .seconds(3)) == [old])
    }

    @Test("the file of a name that went is found under its new one, whatever its ctime")
    func former() {
        var names = NameChanges(grace: grace)
        names.leaves(old, file: file(1), now: start)
        #expect(names.formerName(of: file(1, changed: 99)) == old)
        #expect(names.formerName(of: file(2)) == nil)
        names.stays(old)
        #expect(names.formerName(of: file(1)) == nil)
    }

    @Test("a removal does not count while the file is being looked at under another name")
    func putOff() {
        var names = NameChanges(grace: grace)
        names.arrives(new, file: file(1, changed: 7))
        names.leaves(old, file: file(1), now: start)
        #expect(names.takeDue(now: start + grace) == [])
        #expect(names.isLeaving(old))
        names.forgetArrival(new)
        #expect(names.takeDue(now: start + grace + grace) == [old])
    }

    @Test("many names go and come without anything being left behind")
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
