import Foundation
import LinuxSystem
import SystemPackage
import Testing
import UploadCore

@testable import FileWatch

@Suite final class SettlerTests {
    private let file: RelativePath
    private let status: FileStatus
    private let wall: Int64 = 1_800_000_000_123_456_789
    private var settler = Settler(settle: .milliseconds(250), unknownWriterWait: .seconds(10))

    init() throws {
        file = try relative("a/b.jpg")
        status = try FileStatus(path: "/")
    }

    private func note(_ cause: Settler.Cause, at time: UInt64, quiet: Duration? = nil) -> Bool {
        settler.note(file, cause, now: at(time), quiet: quiet)
    }

    private func found(_ path: RelativePath, _ look: Look) -> (verdict: Settler.Verdict, isSeen: Bool) {
        settler.found(path, look, now: at(0), wall: wall)
    }

    /// The status of a file that was written and changed this long ago.
    private func status(written: Duration, changed: Duration) -> FileStatus {
        var status = status
        status.modified = wall - Int64(written / .nanoseconds(1))
        status.changed = wall - Int64(changed / .nanoseconds(1))
        return status
    }

    private func takeDue(at time: UInt64, limit: Int = 10) -> [RelativePath] {
        settler.takeDue(now: at(time), limit: limit)
    }

    private func look(_ look: Look, at time: UInt64) -> Settler.Verdict? {
        takeDue(at: time).first.map { settler.looked(at: $0, look, now: at(time)) }
    }

    @Test func `a file is told of once however many events it has`() {
        #expect(note(.appeared, at: 0))
        #expect(!note(.written, at: 1))
        #expect(!note(.touched, at: 2))
    }

    @Test func `a quiet file without writer is ready`() {
        _ = note(.appeared, at: 0)
        #expect(look(.free(status), at: 249) == nil)
        #expect(look(.free(status), at: 250) == .ready(status, unlessKnown: false))
        #expect(!settler.contains(file))
    }

    @Test func `files with a writer count for an eighth of the load`() throws {
        for index in 0..<20 { _ = settler.note(try relative("\(index)"), .appeared, now: at(0)) }
        #expect(settler.load == 20)
        for path in takeDue(at: 250, limit: 20) { _ = settler.looked(at: path, .busy, now: at(250)) }
        #expect(settler.load == 2)
        settler.move(from: try relative("0"), to: try relative("moved"), isDirectory: false)
        #expect(settler.load == 2)
        for index in 1..<5 { _ = settler.note(try relative("\(index)"), .written, now: at(300)) }
        #expect(settler.load == 6)
        settler.remove(.root, isDirectory: true)
        #expect(settler.load == 0)
    }

    @Test func `every event starts the quiet time anew`() {
        _ = note(.appeared, at: 0)
        _ = note(.written, at: 200)
        #expect(look(.free(status), at: 250) == nil)
        #expect(settler.deadline == at(450))
        #expect(look(.free(status), at: 450) == .ready(status, unlessKnown: false))
    }

    @Test func `a file that is being written is looked at less and less often`() {
        _ = note(.appeared, at: 0)
        var time: UInt64 = 250
        for pause: UInt64 in [500, 1000, 2000, 4000, 5000, 5000] {
            #expect(look(.busy, at: time) == .wait)
            #expect(settler.deadline == at(time + pause))
            time += pause
        }
    }

    @Test func `closing a file ends the long pause`() {
        _ = note(.appeared, at: 0)
        for time: UInt64 in [250, 750, 1750, 3750] { #expect(look(.busy, at: time) == .wait) }
        _ = note(.written, at: 4000)
        #expect(settler.deadline == at(4250))
        #expect(look(.free(status), at: 4250) == .ready(status, unlessKnown: false))
        #expect(look(.free(status), at: 100_000) == nil)
    }

    @Test func `without a lease a closed file is taken after the quiet time`() {
        _ = note(.written, at: 0)
        #expect(look(.unknown(status), at: 250) == .ready(status, unlessKnown: false))
    }

    @Test func `without a lease a file that only appeared must stand unchanged`() {
        _ = note(.appeared, at: 0)
        #expect(look(.unknown(status), at: 250) == .wait)
        var changed = status
        changed.size += 1
        #expect(look(.unknown(changed), at: 10_250) == .wait)
        #expect(settler.deadline == at(20_250))
        #expect(look(.unknown(changed), at: 20_250) == .ready(changed, unlessKnown: false))
    }

    @Test func `a vanished file that was told of is gone at the second look`() {
        _ = note(.appeared, at: 0)
        #expect(look(.missing, at: 250) == .wait)
        #expect(look(.missing, at: 500) == .gone)
    }

    @Test func `a vanished file that was never told of is nothing`() {
        #expect(!note(.touched, at: 0))
        #expect(look(.missing, at: 250) == .wait)
        #expect(look(.missing, at: 500) == .nothing)
    }

    @Test func `a touched file is ready unless it is known`() {
        _ = note(.touched, at: 0)
        #expect(look(.free(status), at: 250) == .ready(status, unlessKnown: true))
    }

    @Test func `a reconsidered file is ready without being told of again`() {
        #expect(!note(.reconsidered, at: 0))
        #expect(look(.free(status), at: 250) == .ready(status, unlessKnown: false))
    }

    @Test func `what is no file is told of at once and dropped`() {
        _ = note(.appeared, at: 0)
        #expect(look(.odd(status), at: 250) == .odd(status, unlessKnown: false))
        #expect(!settler.contains(file))
    }

    @Test func `a directory that took the name is handed over`() {
        _ = note(.appeared, at: 0)
        #expect(look(.directory, at: 250) == .directory)
    }

    @Test func `an unreadable file is told of and dropped`() {
        _ = note(.appeared, at: 0)
        #expect(look(.unreadable(.permissionDenied), at: 250) == .unreadable(.permissionDenied))
        #expect(!settler.contains(file))
    }

    @Test func `a scan takes an old file at once and lets a young one settle`() throws {
        let aged = status(written: .milliseconds(260), changed: .milliseconds(260))
        let old = found(file, .free(aged))
        #expect(old.verdict == .ready(aged, unlessKnown: false) && !old.isSeen)
        let young = found(file, .free(status(written: .milliseconds(200), changed: .milliseconds(200))))
        #expect(young.verdict == .wait && young.isSeen)
        #expect(settler.deadline == at(60))
        let future = found(try relative("c"), .free(status(written: .seconds(-5), changed: .seconds(-5))))
        #expect(future.verdict == .wait && future.isSeen)
    }

    @Test(arguments: [
        (written: 1000, changed: 1000, left: -740), (written: 100, changed: 100, left: 160),
        // Renamed after the last write.
        (written: 1000, changed: 0, left: 11), (written: 1000, changed: 4, left: 7),
        (written: 1000, changed: 100, left: -89), (written: 200, changed: 0, left: 60),
        // A program set mtime.
        (written: -5000, changed: 100, left: 160), (written: -5000, changed: 300, left: -40),
        // The clock was set back.
        (written: 1000, changed: -5000, left: 250), (written: -5000, changed: -5000, left: 250),
    ])
    func `the quiet time runs from the last write`(_ row: (written: Int, changed: Int, left: Int)) {
        let file = status(written: .milliseconds(row.written), changed: .milliseconds(row.changed))
        #expect(settler.quietTimeLeft(file, wall: wall) == .milliseconds(row.left))
    }

    @Test func `coarse times may be two seconds too early`() {
        var file = status
        file.changed = wall / 1_000_000_000 * 1_000_000_000
        file.modified = file.changed - 60_000_000_000
        #expect(settler.quietTimeLeft(file, wall: wall) == .milliseconds(250))
        #expect(settler.quietTimeLeft(file, wall: file.changed + 1_900_000_000) == .milliseconds(101))
        #expect(settler.quietTimeLeft(file, wall: file.changed + 2_001_000_000) == .zero)
    }

    @Test(arguments: Array(stride(from: Int64(0), to: 12_000_000, by: 70_001)))
    func `one hash of a file that was moved in is enough`(_ sinceChange: Int64) {
        var file = status(written: .seconds(60), changed: .zero)
        file.changed = wall - sinceChange
        let begun = wall + max(.zero, settler.quietTimeLeft(file, wall: wall)).wholeNanoseconds
        let identity = FileIdentity(
            device: file.device, inode: file.inode, size: file.size, modified: file.modified, changed: file.changed,
            born: 0)
        #expect(!identity.isRacy(readAt: begun / 1_000_000 * 1_000_000))
    }

    @Test func `times at the limits do not overflow`() {
        var file = status
        (file.modified, file.changed) = (.min, .min)
        #expect(settler.quietTimeLeft(file, wall: wall) == .milliseconds(250))
        (file.modified, file.changed) = (.max, .max)
        #expect(settler.quietTimeLeft(file, wall: wall) == .milliseconds(250))
    }

    @Test func `a file that was moved in waits for the rest of its quiet time`() {
        #expect(note(.written, at: 0, quiet: .milliseconds(10)))
        #expect(look(.free(status), at: 9) == nil)
        #expect(look(.free(status), at: 10) == .ready(status, unlessKnown: false))
        #expect(note(.written, at: 20, quiet: .seconds(-1)))
        #expect(look(.unknown(status), at: 20) == .ready(status, unlessKnown: false))
    }

    @Test func `a file found without lease is not looked at for the whole wait`() {
        let found = found(file, .unknown(status))
        #expect(found.verdict == .wait)
        #expect(look(.unknown(status), at: 250) == .wait)
        #expect(settler.deadline == at(10_000))
        #expect(look(.unknown(status), at: 10_000) == .ready(status, unlessKnown: false))
    }

    @Test func `a renamed directory takes its files along`() throws {
        _ = note(.appeared, at: 0)
        settler.move(from: try relative("a"), to: try relative("z"), isDirectory: true)
        #expect(!settler.contains(file))
        #expect(takeDue(at: 250, limit: 10) == [try relative("z/b.jpg")])
    }

    @Test func `a removed directory forgets its files and no others`() throws {
        let neighbour = try relative("ab/c")
        _ = note(.appeared, at: 0)
        _ = settler.note(neighbour, .appeared, now: at(0))
        settler.remove(try relative("a"), isDirectory: true)
        #expect(takeDue(at: 250, limit: 10) == [neighbour])
    }

    @Test func `due files come in the order of their deadlines and no more than asked`() throws {
        let names = try (0..<5).map { try relative("f\($0)") }
        for index in [3, 0, 4, 1, 2] { _ = settler.note(names[index], .appeared, now: at(UInt64(index))) }
        #expect(takeDue(at: 1000, limit: 3) == Array(names[..<3]))
        #expect(takeDue(at: 1000, limit: 3) == Array(names[3...]))
    }
}
