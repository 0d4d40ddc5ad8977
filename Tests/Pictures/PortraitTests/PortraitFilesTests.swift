import Foundation
import LinuxSystem
import Synchronization
import SystemPackage
import TestSupport
import Testing
import UploadCore

@testable import Portrait

/// Fails every disk operation from one step on, like a kill.
private final class Killer: Sendable {
    private let steps: Mutex<Int>
    private let last: Int?
    /// The number of steps begun.
    var count: Int { steps.withLock { $0 } }
    /// Whether the kill has come.
    var isOver: Bool { last.map { count >= $0 } ?? false }

    init(at last: Int?) {
        self.last = last
        steps = Mutex(0)
    }

    var disk: PortraitDisk {
        PortraitDisk { [self] _ throws(Errno) in
            if isOver { throw .canceled }
            steps.withLock { $0 += 1 }
        }
    }
}

@Suite("The profile picture on disk")
struct PortraitFilesTests {
    /// A state directory with a mirror beside it.
    private struct Place {
        let directory: TemporaryDirectory
        var state: String { directory.path("state") }
        var avatars: String { directory.path("avatars") }

        init() throws {
            directory = try TemporaryDirectory()
            try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        }

        func files(_ killer: Killer = Killer(at: nil)) -> PortraitFiles {
            PortraitFiles(state: state, avatars: avatars, disk: killer.disk)
        }

        func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
        var current: String? { text(avatars + "/current.jpg") }
        var pending: String? { text(state + "/portrait/pending.jpg") }
        var thumbnail: String? { text(state + "/portrait/pending-150.jpg") }
        func names(_ path: String) -> Set<String> {
            Set((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
        }

        /// Stores a picture like the avatar cache, and returns the path.
        func keep(_ number: UInt64) throws -> String {
            let path = avatars + "/h/\(number).jpg"
            try FileManager.default.createDirectory(atPath: avatars + "/h", withIntermediateDirectories: true)
            try Data("picture \(number)".utf8).write(to: URL(filePath: path))
            return path
        }
    }

    private static func record(_ id: UInt64) -> PortraitRecord {
        let drop = PortraitDrop(
            path: PortraitStage.path("\(id).jpg"), key: ContentKey(high: 0, low: id),
            identity: FileIdentity(device: 1, inode: id, size: 1000, modified: 0, changed: 0, born: 0),
            type: MediaType(kind: .image, mime: "image/jpeg"), acceptedAt: WallTime(milliseconds: 0))
        return PortraitRecord(id: id, drop: drop, account: "anna")
    }

    private static func draw(_ id: UInt64, with files: inout PortraitFiles) throws {
        let draft = try files.makeDraft(id)
        try writeAll(Array("picture \(id)".utf8), to: draft.picture.rawValue)
        try writeAll(Array("thumbnail \(id)".utf8), to: draft.thumbnail.rawValue)
        try files.finish(draft, id)
    }

    private static func take(_ id: UInt64, with files: inout PortraitFiles) throws {
        try draw(id, with: &files)
        _ = try files.store(record(id))
    }

    private static func end(
        _ id: UInt64, _ fate: PortraitRecord.Fate, in place: Place, with files: inout PortraitFiles, isKept: Bool = true
    ) throws {
        var record = record(id)
        record.fate = fate
        if fate == .done {
            record.url = "http://h/\(id).jpg!150x150"
            _ = try files.confirm(
                record, url: "http://h/\(id).jpg!150x150", cached: isKept ? try place.keep(id) : nil, time: "now")
        } else {
            record.error = FileError(code: "refused", message: "415", retryable: false)
            _ = try files.end(record)
        }
    }

    @Test("a pending picture is shown under its names, and is complete")
    func pending() throws {
        let place = try Place()
        var files = place.files()
        _ = try files.open()
        try Self.take(1, with: &files)
        #expect(place.pending == "picture 1" && place.thumbnail == "thumbnail 1" && place.current == "picture 1")
        let link = try FileManager.default.destinationOfSymbolicLink(atPath: place.avatars + "/current.jpg")
        #expect(link == place.state + "/portrait/pending.jpg")
    }

    @Test("a confirmed picture is shown from the cache, and the pending files are removed")
    func confirmed() throws {
        let place = try Place()
        var files = place.files()
        _ = try files.open()
        try Self.take(1, with: &files)
        try Self.end(1, .done, in: place, with: &files)
        #expect(place.current == "picture 1")
        #expect(place.names(place.state + "/portrait") == ["newest.json"])
        let json = try #require(place.text(place.state + "/profile.json"))
        let profile = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        #expect(profile?["portraitURL"] as? String == "http://h/1.jpg!150x150")
        #expect(profile?["updatedAt"] as? String == "now")
        #expect(profile?["key"] as? String == Self.record(1).drop.key.description)
    }

    @Test("a picture that the cache can't store stays in place until the next confirmation")
    func notCached() throws {
        let place = try Place()
        var files = place.files()
        _ = try files.open()
        try Self.take(1, with: &files)
        try Self.end(1, .done, in: place, with: &files, isKept: false)
        #expect(place.current == "picture 1" && place.pending == nil)
        var next = place.files()
        _ = try next.open()
        #expect(place.current == "picture 1")
        try Self.take(2, with: &next)
        try Self.end(2, .failed, in: place, with: &next)
        #expect(place.current == "picture 1")
        try Self.take(3, with: &next)
        try Self.end(3, .done, in: place, with: &next)
        #expect(place.current == "picture 3")
        #expect(place.names(place.state + "/portrait") == ["newest.json"])
    }

    @Test("a refusal restores the previous picture, or shows nothing if there was none")
    func refused() throws {
        let place = try Place()
        var files = place.files()
        _ = try files.open()
        try Self.take(1, with: &files)
        try Self.end(1, .failed, in: place, with: &files)
        #expect(!place.names(place.avatars).contains("current.jpg"))
        try Self.take(2, with: &files)
        try Self.end(2, .done, in: place, with: &files)
        try Self.take(3, with: &files)
        #expect(place.current == "picture 3")
        try Self.end(3, .cancelled, in: place, with: &files)
        #expect(place.current == "picture 2")
    }

    @Test("a picture that can't be shown yet is kept, and the previous one stays the newest until then")
    func storedLater() throws {
        let place = try Place()
        let isBroken = Mutex(false)
        var files = PortraitFiles(
            state: place.state, avatars: place.avatars,
            disk: PortraitDisk { step throws(Errno) in
                if isBroken.withLock({ $0 }), step == "link .new-pending" { throw .ioError }
            })
        _ = try files.open()
        try Self.take(1, with: &files)
        try Self.draw(2, with: &files)
        isBroken.withLock { $0 = true }
        #expect(throws: Errno.ioError) { _ = try files.store(Self.record(2)) }
        #expect(files.kept.record == Self.record(1))
        try files.note(Self.record(1))
        try files.scrap(3)
        isBroken.withLock { $0 = false }
        #expect(try files.picture(1).rawValue >= 0)
        _ = try files.store(Self.record(2))
        #expect(place.pending == "picture 2" && place.thumbnail == "thumbnail 2" && place.current == "picture 2")
    }

    @Test(
        "foreign files beside the pictures are left alone, whatever their names",
        arguments: ["7", "007", "99999999999"])
    func foreign(_ name: String) throws {
        let place = try Place()
        var files = place.files()
        _ = try files.open()
        try Data("foreign".utf8).write(to: URL(filePath: place.state + "/portrait/" + name))
        try Self.take(1, with: &files)
        try Self.end(1, .done, in: place, with: &files)
        #expect(place.text(place.state + "/portrait/" + name) == "foreign")
        var next = place.files()
        #expect(try next.open() == nil)
        #expect(next.kept.lastID == (name == "7" ? 7 : 1))
    }

    @Test("current.jpg leads to a picture or is missing; a foreign file in its place stays")
    func dangling() throws {
        let place = try Place()
        var files = place.files()
        _ = try files.open()
        try Self.take(1, with: &files)
        try Self.end(1, .done, in: place, with: &files)
        try FileManager.default.removeItem(atPath: place.avatars + "/h/1.jpg")
        var next = place.files()
        #expect(try next.open() == nil)
        #expect(!place.names(place.avatars).contains("current.jpg"))
        let foreign = place.directory.path("foreign.jpg")
        try Data("foreign".utf8).write(to: URL(filePath: foreign))
        try FileManager.default.createSymbolicLink(
            atPath: place.avatars + "/current.jpg", withDestinationPath: foreign)
        _ = try next.open()
        #expect(place.current == "foreign")
        _ = try next.relocate(to: try place.keep(1))
        #expect(place.current == "picture 1")
    }

    @Test("the record survives storing and loading")
    func roundTrip() throws {
        let place = try Place()
        var files = place.files()
        _ = try files.open()
        try Self.draw(4, with: &files)
        var record = Self.record(4)
        record.drop.path = try #require(RelativePath(Array("portrait/a".utf8) + [0xFF]))
        record.drop.isPaused = true
        record.attempts = 3
        record.startedAt = WallTime(milliseconds: 5)
        record.account = nil
        _ = try files.store(record)
        var next = place.files()
        _ = try next.open()
        #expect(next.kept.record == record)
        #expect(next.kept.lastID == 4)
    }

    @Test("a read-only mirror is reported, and nothing else is lost")
    func brokenMirror() throws {
        let place = try Place()
        try Data().write(to: URL(filePath: place.avatars))
        var files = place.files()
        _ = try files.open()
        try Self.draw(1, with: &files)
        #expect(try files.store(Self.record(1)) != nil)
        #expect(place.pending == "picture 1")
    }

    @Test("damaged files count as missing", arguments: ["newest.json", "picture.jpg"])
    func damaged(_ name: String) throws {
        let place = try Place()
        var files = place.files()
        _ = try files.open()
        try Self.take(1, with: &files)
        if name == "newest.json" {
            try Data("{".utf8).write(to: URL(filePath: place.state + "/portrait/newest.json"))
        } else {
            try FileManager.default.removeItem(atPath: place.state + "/portrait/1/picture.jpg")
        }
        var next = place.files()
        _ = try next.open()
        #expect(next.kept.record == nil)
        #expect(place.pending == nil && place.current == nil)
    }

    // MARK: Kills

    /// The moves in the life of a picture. The state after each move may be reported.
    private enum Move: CaseIterable {
        case take, confirm, confirmUncached, refuse, scrap
    }

    /// The moves up to a kill, and the states that are legal afterwards.
    private struct Run {
        /// The ids of the pictures last reported as pending and as confirmed.
        var pending: UInt64?
        var confirmed: UInt64?
        /// The ids that would be reported after the interrupted move.
        var wouldBePending: UInt64?
        var wouldBeConfirmed: UInt64?
        var id: UInt64 = 0

        mutating func go(_ moves: [Move], in place: Place, with files: inout PortraitFiles, until killer: Killer) throws
        {
            for move in moves {
                (wouldBePending, wouldBeConfirmed) = (pending, confirmed)
                switch move {
                case .take:
                    id += 1
                    wouldBePending = id
                    try PortraitFilesTests.take(id, with: &files)
                case .confirm, .confirmUncached:
                    guard let pending else { continue }
                    (wouldBePending, wouldBeConfirmed) = (nil, pending)
                    try PortraitFilesTests.end(
                        pending, .done, in: place, with: &files, isKept: move == .confirm)
                case .refuse:
                    guard let pending else { continue }
                    wouldBePending = nil
                    try PortraitFilesTests.end(pending, .failed, in: place, with: &files)
                case .scrap:
                    id += 1
                    try PortraitFilesTests.draw(id, with: &files)
                    try files.scrap(id)
                }
                // A failure to write to the mirror alone throws no error.
                if killer.isOver { throw Errno.canceled }
                (pending, confirmed) = (wouldBePending, wouldBeConfirmed)
            }
        }
    }

    /// Checks that a reader sees a legal state while the agent is dead.
    private func lookAtRemains(_ place: Place, _ run: Run, _ seed: UInt64) {
        let legal = Set([run.pending ?? run.confirmed, run.wouldBePending ?? run.wouldBeConfirmed])
        let shown = place.current.map { UInt64($0.split(separator: " ").last ?? "") }
        #expect(shown.map(legal.contains) ?? legal.contains(nil), "seed \(seed): \(String(describing: place.current))")
        if let pending = place.pending, let thumbnail = place.thumbnail {
            #expect(pending.dropFirst(7) == thumbnail.dropFirst(9), "seed \(seed): \(pending) beside \(thumbnail)")
        }
    }

    @Test("a kill at any step leaves a legal state, and the newest picture", arguments: 0..<8)
    func kills(_ part: UInt64) throws {
        for seed in (part * 25)..<(part * 25 + 25) {
            let place = try Place()
            var random = SeededRandom(seed: seed)
            let moves = (0..<6).map { _ in Move.allCases.randomElement(using: &random) ?? .take } + [.take, .confirm]
            var run = Run()
            // Each run starts from the files that the killed run left.
            for _ in 0..<3 {
                let killer = Killer(at: Int.random(in: 0..<120, using: &random))
                var files = place.files(killer)
                do {
                    _ = try files.open()
                    run.id = max(run.id, files.kept.lastID)
                    try run.go(moves, in: place, with: &files, until: killer)
                } catch {
                    #expect(killer.isOver, "seed \(seed): \(error)")
                }
                lookAtRemains(place, run, seed)
                try reopen(place, &run, seed)
            }
        }
    }

    /// Checks the state after the next start.
    private func reopen(_ place: Place, _ run: inout Run, _ seed: UInt64) throws {
        var files = place.files()
        #expect(try files.open() == nil)
        let record = files.kept.record
        let pending = record?.fate == .pending ? record?.id : nil
        let confirmed = files.kept.profile?.portrait
        #expect([run.pending, run.wouldBePending].contains(pending), "seed \(seed): \(String(describing: pending))")
        #expect(
            [run.confirmed, run.wouldBeConfirmed].contains(confirmed), "seed \(seed): \(String(describing: confirmed))")
        let shown = pending ?? confirmed
        #expect(place.current == shown.map { "picture \($0)" }, "seed \(seed)")
        #expect(place.pending == pending.map { "picture \($0)" }, "seed \(seed)")
        #expect(place.thumbnail == pending.map { "thumbnail \($0)" }, "seed \(seed)")
        var expected: Set<String> = record == nil ? [] : ["newest.json"]
        if let pending { expected.formUnion(["pending", "pending.jpg", "pending-150.jpg", "\(pending)"]) }
        if let profile = files.kept.profile, profile.picture.hasPrefix(place.state) {
            expected.insert("\(profile.portrait)")
        }
        #expect(place.names(place.state + "/portrait") == expected, "seed \(seed)")
        run = Run(
            pending: pending, confirmed: confirmed, wouldBePending: pending, wouldBeConfirmed: confirmed, id: run.id)
    }

    @Test("a kill at each single step of a picture's life leaves a legal state")
    func everyStep() throws {
        for last in 0... {
            let place = try Place()
            let killer = Killer(at: last)
            var files = place.files(killer)
            var run = Run()
            do {
                _ = try files.open()
                try run.go(
                    [.take, .confirm, .take, .take, .refuse, .take, .confirmUncached], in: place, with: &files,
                    until: killer)
            } catch { #expect(killer.isOver) }
            lookAtRemains(place, run, UInt64(last))
            try reopen(place, &run, UInt64(last))
            if !killer.isOver {
                #expect(last > 60)
                break
            }
        }
    }
}
