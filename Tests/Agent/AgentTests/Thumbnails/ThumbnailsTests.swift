import Foundation
import Intake
import Ledger
import LinuxSystem
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Agent

@Suite("Thumbnails")
struct ThumbnailsTests {
    private let place: TemporaryDirectory
    private let media = ScriptedExaminer(facts: MediaFacts(width: 3, height: 2))
    private let news = News()
    private let thumbnails: Thumbnails
    private let key = ContentKey(high: 1, low: 1)

    init() throws {
        place = try TemporaryDirectory()
        thumbnails = Thumbnails(media: media, room: 300) { [news] in news.add($0) }
    }

    /// The reports of the examinations.
    private final class News: Sendable {
        private let list = Mutex<[Thumbnails.News]>([])
        func add(_ news: Thumbnails.News) { list.withLock { $0.append(news) } }
        private func take() -> Thumbnails.News? { list.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

        func next() async throws -> Thumbnails.News {
            let found = Mutex<Thumbnails.News?>(nil)
            try await Poll.until("news") {
                guard let first = self.take() else { return false }
                found.withLock { $0 = first }
                return true
            }
            return try #require(found.withLock { $0 })
        }
    }

    /// The records of a test, and the files that open.
    private struct Facts: ContentFacts {
        var records: [DropRecord] = []
        var files: [RelativePath: SharedDescriptor] = [:]
        var failure: LedgerError?

        func records(of key: ContentKey) throws(LedgerError) -> [DropRecord] {
            if let failure { throw failure }
            return records.filter { $0.key == key }
        }
        func hasPath(of key: ContentKey) throws(LedgerError) -> Bool { try !records(of: key).isEmpty }
        func open(_ record: DropRecord) -> SharedDescriptor? { files[record.path] }
    }

    /// Returns a record of a picture with this name, and the open file.
    private func picture(_ name: String) throws -> (record: DropRecord, file: SharedDescriptor) {
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: place.path(name)))
        let file = try SharedDescriptor(opening: place.path(name), flags: O_RDONLY)
        let path = try #require(RelativePath(name))
        var record = DropRecord(path: path, state: .done, acceptedAt: WallTime(milliseconds: 0))
        record.key = key
        record.type = MediaType(kind: .image, mime: "image/jpeg")
        record.identity = FileIdentity(try FileStatus(of: file.rawValue))
        return (record, file)
    }

    @Test("examines a content through the first of its files that opens")
    func open() async throws {
        let (gone, there) = (try picture("a.jpg"), try picture("b.jpg"))
        let facts = Facts(records: [gone.record, there.record], files: [there.record.path: there.file])
        #expect(thumbnails.examine(gone.record, facts) == [])
        let steps = thumbnails.handle(try await news.next(), facts)
        #expect(steps == [.learned(MediaFacts(width: 3, height: 2), key, isAll: true)])
        #expect(media.thumbnails == [key])
    }

    @Test("records what is known of a content, and shows only what changes a report")
    func learn() throws {
        let size = MediaFacts(width: 3, height: 2)
        var (measured, trace, complete) = (try picture("b").record, try picture("c").record, try picture("d").record)
        measured.facts = size
        trace.disposal = .movedAway(to: measured.path)
        complete.facts = size
        complete.isExamined = true
        let facts = Facts(records: [try picture("a").record, measured, trace, complete])
        let changes = facts.records(of: key, learning: size, isAll: true)
        #expect(changes.map(\.record.path.description) == ["a", "b", "c"])
        #expect(changes.map(\.isShown) == [true, false, false])
        #expect(changes.allSatisfy { $0.record.facts == size && $0.record.isExamined })
    }

    @Test("records that nothing can be known of a content, without another report")
    func learnNothing() throws {
        let facts = Facts(records: [try picture("a").record])
        let changes = facts.records(of: key, learning: MediaFacts(), isAll: true)
        #expect(changes.map(\.record.isExamined) == [true])
        #expect(changes.map(\.isShown) == [false])
    }

    @Test("lets a file leave once the examination of its content ends")
    func hold() async throws {
        let (record, file) = try picture("a.jpg")
        let facts = Facts(records: [record], files: [record.path: file])
        #expect(!thumbnails.hold(record))
        #expect(thumbnails.examine(record, facts) == [])
        #expect(thumbnails.hold(record))
        let steps = thumbnails.handle(try await news.next(), facts)
        #expect(steps.last == .retire(record.path))
        #expect(!thumbnails.hold(record))
    }

    @Test("draws no picture whose size can't be read")
    func refused() throws {
        let (unread, file) = try picture("a.jpg")
        var record = unread
        record.facts = MediaFacts()
        #expect(thumbnails.examine(record, Facts(records: [record], files: [record.path: file])) == [])
        #expect(!thumbnails.hold(record))
    }

    @Test("holds examinations back while files are hashed, and goes on by itself")
    func rush() async throws {
        let (record, file) = try picture("a.jpg")
        let facts = Facts(records: [record], files: [record.path: file])
        let others = try (2...4 as ClosedRange<UInt64>).map { number in
            var other = try picture("b\(number).jpg").record
            other.key = ContentKey(high: 2, low: number)
            return other
        }
        thumbnails.noteProgress()
        // These take the share of a rush; they end at once, since no file opens.
        for other in others { #expect(thumbnails.examine(other, Facts()) == []) }
        #expect(thumbnails.examine(record, facts) == [])
        var steps: [Thumbnails.Step] = []
        while steps.isEmpty { steps = thumbnails.handle(try await news.next(), facts) }
        #expect(steps == [.learned(MediaFacts(width: 3, height: 2), key, isAll: true)])
    }

    @Test("measures few of many files while they are hashed")
    func earlyLooks() throws {
        let (looks, start) = (EarlyLooks(), MonotonicTime(nanoseconds: 1))
        let picture = try #require(try picture("a").record.type)
        /// Returns how many of 100 files are measured, each before the next one begins.
        func measured(at time: MonotonicTime) -> Int {
            (0..<100).count { _ in
                guard looks.begin(picture, now: time) else { return false }
                looks.end(picture, now: time)
                return true
            }
        }
        #expect(measured(at: start) == 32)
        #expect(measured(at: start + .milliseconds(999)) == 0)
        #expect(measured(at: start + .seconds(1)) == 32)
        for _ in 0..<32 { #expect(looks.begin(picture, now: start + .seconds(2))) }
        #expect(!looks.begin(picture, now: start + .seconds(3)))
        looks.end(picture, now: start + .seconds(3))
        #expect(looks.begin(picture, now: start + .seconds(3)))
    }

    @Test("measures videos a twentieth of the time, while they are hashed")
    func earlyVideos() throws {
        let (looks, start) = (EarlyLooks(), MonotonicTime(nanoseconds: 1))
        let video = MediaType(kind: .video, mime: "video/mp4")
        #expect(looks.begin(video, now: start))
        #expect(!looks.begin(video, now: start + .milliseconds(50)), "one at a time")
        looks.end(video, now: start + .milliseconds(100))
        #expect(!looks.begin(video, now: start + .milliseconds(1999)))
        #expect(looks.begin(video, now: start + .milliseconds(2000)))
    }

    @Test("ends an examination at once if no file of the content opens")
    func nothingOpens() throws {
        let (record, _) = try picture("a.jpg")
        #expect(thumbnails.examine(record, Facts(records: [record])) == [])
        #expect(!thumbnails.hold(record))
    }

    @Test("takes back the thumbnail of a file that changed, and examines the content again through another file")
    func changed() async throws {
        let (record, file) = try picture("a.jpg")
        let other = try picture("b.jpg")
        #expect(thumbnails.examine(record, Facts(records: [record], files: [record.path: file])) == [])
        let facts = Facts(records: [other.record], files: [other.record.path: other.file])
        guard case .examined(let key, var finding) = try await news.next() else { throw CancellationError() }
        finding.isSame = false
        #expect(thumbnails.handle(.examined(key, finding), facts) == [])
        let steps = thumbnails.handle(try await news.next(), facts)
        #expect(steps == [.learned(MediaFacts(width: 3, height: 2), key, isAll: true)])
        #expect(media.thumbnailsMade == 2)
    }

    @Test("leaves contents out while many wait, unless files must not leave before", arguments: [true, false])
    func leaveOut(mayLeaveOut: Bool) async throws {
        let thumbnails = Thumbnails(media: media, room: mayLeaveOut ? 300 : nil) { [news] in news.add($0) }
        media.hold()
        var (record, file) = try picture("a.jpg")
        let facts = Facts(records: [record], files: [record.path: file])
        for number in 0..<300 {
            record.key = ContentKey(high: 1, low: UInt64(number))
            #expect(thumbnails.examine(record, Facts(records: [record], files: facts.files)) == [])
        }
        #expect(thumbnails.isCrowded)
        #expect(!thumbnails.hasLeftOut)
        record.key = ContentKey(high: 2, low: 0)
        #expect(thumbnails.examine(record, facts) == [])
        #expect(thumbnails.hasLeftOut == mayLeaveOut)
        #expect(thumbnails.hold(record) != mayLeaveOut)
        #expect(!thumbnails.maySearch, "many still wait")
        #expect(thumbnails.examine(record, facts, isFound: true) == [])
        #expect(thumbnails.hold(record))
        media.release()
    }

    @Test("searches for contents left out once no other waits")
    func search() async throws {
        let media = ScriptedExaminer(facts: MediaFacts(width: 3, height: 2))
        let thumbnails = Thumbnails(media: media, room: 300) { [news] in news.add($0) }
        var (record, _) = try picture("a.jpg")
        var count: UInt64 = 0
        while !thumbnails.hasLeftOut {
            count += 1
            record.key = ContentKey(high: 1, low: count)
            // A rush holds most examinations back. The contents have no files, so each ends when its turn comes.
            thumbnails.noteProgress()
            #expect(thumbnails.examine(record, Facts()) == [])
        }
        #expect(count > 300)
        while !thumbnails.maySearch { #expect(thumbnails.handle(try await news.next(), Facts()) == []) }
        thumbnails.beginSearch()
        #expect(!thumbnails.hasLeftOut)
        #expect(thumbnails.isSettled)
    }

    @Test("a search passes over contents whose examination failed in this run")
    func failed() async throws {
        let thumbnails = Thumbnails(media: ScriptedExaminer(facts: nil), room: 300) { [news] in news.add($0) }
        let (record, file) = try picture("a.jpg")
        let facts = Facts(records: [record], files: [record.path: file])
        #expect(thumbnails.examine(record, facts, isFound: true) == [])
        #expect(thumbnails.hold(record))
        _ = thumbnails.handle(try await news.next(), facts)
        #expect(!thumbnails.isSettled)
        #expect(thumbnails.examine(record, facts, isFound: true) == [])
        #expect(!thumbnails.hold(record), "not queued")
        #expect(thumbnails.examine(record, facts) == [])
        #expect(thumbnails.hold(record))
        _ = try await news.next()
    }

    @Test("a file that can't be opened under its name is left to its next name, or to the next start")
    func renamed() throws {
        let (record, _) = try picture("a.jpg")
        #expect(thumbnails.examine(record, Facts(records: [record])) == [])
        #expect(!thumbnails.hold(record))
        #expect(!thumbnails.isSettled)
    }

    @Test("removes only thumbnails that no path holds")
    func release() throws {
        let (record, _) = try picture("a.jpg")
        let orphan = ContentKey(high: 2, low: 2)
        media.add(key)
        media.add(orphan)
        #expect(thumbnails.handle(.stored([key, orphan]), Facts(records: [record])) == [])
        #expect(media.thumbnails == [key])
        #expect(thumbnails.release(key, Facts()) == [])
        #expect(media.thumbnails.isEmpty)
    }

    @Test("removes nothing while the ledger can't be read")
    func unreadable() throws {
        media.add(key)
        let failure = LedgerError.unreadable(path: "ledger", reason: "it is gone")
        #expect(thumbnails.release(key, Facts(failure: failure)) == [.failed(failure)])
        #expect(media.thumbnails == [key])
    }

    @Test("checks many stored thumbnails in several turns")
    func turns() async throws {
        let keys = (1...300).map { ContentKey(high: 9, low: $0) }
        for key in keys { media.add(key) }
        #expect(thumbnails.handle(.stored(keys[...]), Facts()) == [])
        #expect(media.thumbnails.count == 300 - 256)
        #expect(thumbnails.handle(try await news.next(), Facts()) == [])
        #expect(media.thumbnails.isEmpty)
    }
}

@Suite("Examinations")
struct ExaminationsTests {
    private func key(_ number: UInt64) -> ContentKey { ContentKey(high: 0, low: number) }

    @Test("run in order of arrival, a few at a time, each content once")
    func order() {
        var examinations = Examinations()
        for number in [3, 1, 3, 2] as [UInt64] { examinations.add(key(number)) }
        let first = (1...3).map { _ in examinations.begin(now: time(0)) }
        #expect(first == [key(3), key(1), nil])
        _ = examinations.end(key(3), now: time(0))
        let next = examinations.begin(now: time(0))
        #expect(next == key(2))
    }

    @Test("name the files that waited for them, once")
    func held() throws {
        let paths = try ["b", "a"].map { try #require(RelativePath($0)) }
        var examinations = Examinations()
        let isHeldEarly = examinations.hold(paths[0], for: key(1))
        #expect(!isHeldEarly)
        examinations.add(key(1))
        for path in paths {
            let isHeld = examinations.hold(path, for: key(1))
            #expect(isHeld)
        }
        _ = examinations.begin(now: time(0))
        let released = examinations.end(key(1), now: time(0))
        #expect(released == paths.reversed())
        #expect(!examinations.covers(key(1)))
    }

    @Test("go through thousands of contents in order")
    func many() {
        var examinations = Examinations()
        for number in 0..<3000 as Range<UInt64> { examinations.add(key(number)) }
        for number in 0..<3000 as Range<UInt64> {
            let next = examinations.begin(now: time(0))
            #expect(next == key(number))
            _ = examinations.end(key(number), now: time(0))
        }
    }

    /// Begins and ends examinations at a time.
    ///
    /// - Returns: how many began.
    private func examine(_ examinations: inout Examinations, now: MonotonicTime) -> Int {
        var count = 0
        while let next = examinations.begin(now: now) {
            count += 1
            _ = examinations.end(next, now: now)
        }
        return count
    }

    @Test("are few in a rush, and go on after it")
    func rush() {
        var examinations = Examinations()
        for number in 0..<100 as Range<UInt64> { examinations.add(key(number)) }
        var begun: [Int] = []
        for milliseconds in stride(from: 1000, to: 1500, by: 50) as StrideTo<UInt64> {
            examinations.noteProgress(now: time(milliseconds))
            begun.append(examine(&examinations, now: time(milliseconds)))
        }
        #expect(begun == [2, 0, 2, 0, 2, 0, 2, 0, 2, 0])
        #expect(examinations.nextTurn == time(1500))
        #expect(examine(&examinations, now: time(1450 + 999)) == 2)
        #expect(examinations.nextTurn == time(1450 + 1000))
        #expect(examine(&examinations, now: time(1450 + 1000)) == 88)
        #expect(examinations.nextTurn == nil)
    }

    @Test("take a twentieth of the time in a rush, one after the other, and all of it afterwards")
    func share() {
        var examinations = Examinations()
        for number in 0..<10 as Range<UInt64> { examinations.add(key(number)) }
        examinations.noteProgress(now: time(1000))
        #expect(examinations.begin(now: time(1000)) == key(0))
        #expect(examinations.begin(now: time(1000)) == nil)
        #expect(examinations.nextTurn == time(2000), "the end of the rush")
        examinations.noteProgress(now: time(1300))
        #expect(examinations.end(key(0), now: time(1300)) == [])
        examinations.noteProgress(now: time(6900))
        #expect(examinations.nextTurn == time(7000))
        #expect(examinations.begin(now: time(7000)) == key(1))
        #expect(examinations.begin(now: time(7900)) == key(2), "the rush is over")
    }

    @Test("wait for the end of a rush, however many wait, if files stay")
    func heldBack() {
        var examinations = Examinations()
        for number in 0..<UInt64(Examinations.mostHeldBack * 2) { examinations.add(key(number)) }
        examinations.noteProgress(now: time(1000))
        #expect(examine(&examinations, now: time(1000)) == Examinations.mostPerShare)
    }

    @Test("do not wait for the end of a rush if very many files wait to leave")
    func crowd() {
        var examinations = Examinations(room: nil)
        let count = Examinations.mostHeldBack + 5
        for number in 0..<UInt64(count) { examinations.add(key(number)) }
        examinations.noteProgress(now: time(1000))
        #expect(examine(&examinations, now: time(1000)) == 5)
        #expect(examinations.nextTurn == time(1100))
    }

    private func time(_ milliseconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }
}
