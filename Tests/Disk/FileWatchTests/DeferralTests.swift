import Foundation
import Glibc
import LinuxSystem
import SystemPackage
import TestSupport
import Testing
import UploadCore

@testable import FileWatch

/// New files while the user of the watch has too much to do.
@Suite struct DeferralTests {
    @Test func `a scan reports no more files than the window holds, and the others as work ends`() async throws {
        let desk = try Desk(window: 3)
        for index in 0..<40 {
            try desk.outbox.makeDirectory("d\(index % 4)")
            try desk.outbox.write("d\(index % 4)/f\(index)")
        }
        desk.outbox.watch.start()
        try await Poll.until("a full window") { desk.inWork.count == 3 }
        try await desk.outbox.sees("deferring true")
        for _ in 0..<20 {
            desk.work(2)
            try await Poll.until("more files") { !desk.inWork.isEmpty || desk.known.count == 40 }
        }
        try await desk.workUntil("all files") { try desk.knowsDisk() }
        try await desk.outbox.sees("the end of the scan") { $0.hasPrefix("scanned") }
        #expect(desk.mostInWork == 3)
        // A full scan ends when everything it found is reported.
        #expect(desk.outbox.story.suffix(2) == ["deferring false", "scanned 40"])
    }

    @Test func `new files are deferred while there is no room, urgent ones and what is known are not`() async throws {
        let desk = try Desk { $0.name.elementsEqual("urgent".utf8) }
        let outbox = desk.outbox
        try outbox.write("known")
        try outbox.write("old")
        try await outbox.start()
        try await desk.workUntil("two known files") { try desk.knowsDisk() }
        desk.load.report(3)
        for index in 0..<50 { try outbox.write("f\(index)") }
        try outbox.write("urgent")
        #expect(rename(outbox.path("old"), outbox.path("new")) == 0)
        #expect(unlink(outbox.path("known")) == 0)
        try await outbox.sees("ready urgent")
        try await outbox.sees("renamed old new")
        try await outbox.sees("gone known")
        #expect(desk.inWork == ["urgent"])
        #expect(outbox.watch.counters.deferred == 1)
        desk.load.report(0)
        try await desk.workUntil("all files") { try desk.knowsDisk() }
        try await outbox.sees("deferring false")
        #expect(desk.mostInWork <= 3)
    }

    @Test func `a few new files among many known ones do not make the watch look at them all`() async throws {
        let desk = try Desk()
        let outbox = desk.outbox
        for index in 0..<200 { try outbox.write("old\(index)") }
        outbox.watch.start()
        try await desk.workUntil("the known files") { try desk.knowsDisk() && !outbox.scans.isEmpty }
        let questions = desk.questions
        desk.load.report(3)
        for index in 0..<10 { try outbox.write("new\(index)") }
        try await Poll.until("deferred files") { outbox.watch.counters.deferred == 1 }
        desk.load.report(0)
        try await desk.workUntil("all files") { try desk.knowsDisk() }
        #expect(desk.questions - questions < 100)
    }

    @Test func `a full scan finds urgent files and removals in directories with deferred files`() async throws {
        let desk = try Desk { $0.name.elementsEqual("urgent".utf8) }
        let outbox = desk.outbox
        try outbox.makeDirectory("d/e")
        for index in 0..<10 { try outbox.write("d/f\(index)") }
        try outbox.write("d/e/urgent")
        try outbox.write("d/urgent")
        outbox.watch.start()
        for name in ["d/urgent", "d/e/urgent"] { try await outbox.sees("ready \(name)") }
        try await outbox.sees("deferring true")
        #expect(!outbox.story.contains { $0.hasPrefix("scanned") })
        try await desk.workUntil("all files") { try desk.knowsDisk() }
    }

    @Test func `a requested scan does not wait for deferred files, and counts them as found`() async throws {
        let desk = try Desk()
        let outbox = desk.outbox
        try await outbox.start()
        desk.load.report(3)
        for index in 0..<10 { try outbox.write("f\(index)") }
        try await outbox.sees("deferring true")
        let scans = outbox.watch.counters.fullScans
        outbox.watch.rescan()
        outbox.watch.rescan()
        try outbox.write("g")
        desk.load.report(0)
        try await desk.workUntil("all files") { try desk.knowsDisk() }
        try await Poll.until("the scan") { outbox.watch.counters.fullScans > scans }
        let summary = try #require(outbox.scans.last)
        #expect(summary.files == 11)
    }

    @Test func `a directory that is renamed keeps its deferred files, a removed one needs no visit`() async throws {
        let desk = try Desk()
        let outbox = desk.outbox
        try outbox.makeDirectory("a")
        try outbox.makeDirectory("b")
        try await outbox.start()
        desk.load.report(3)
        for index in 0..<5 {
            try outbox.write("a/f\(index)")
            try outbox.write("b/f\(index)")
        }
        try await Poll.until("two deferred directories") { outbox.watch.counters.deferred == 2 }
        #expect(rename(outbox.path("a"), outbox.path("c")) == 0)
        try FileManager.default.removeItem(atPath: outbox.path("b"))
        desk.load.report(0)
        try await desk.workUntil("the files of c") { try desk.known.count == 5 && desk.knowsDisk() }
        try await outbox.sees("deferring false")
    }

    @Test func `a directory that goes without an event while its files are deferred holds up no scan`() async throws {
        var kernel = Kernel.withoutMounts
        kernel.watch = { queue, directory, isRoot throws(Errno) in
            guard isRoot else { throw .noSpace }
            return try queue.watch(directory, isRoot: true)
        }
        let desk = try Desk(kernel: kernel)
        let outbox = desk.outbox
        try outbox.makeDirectory("d/e")
        for index in 0..<10 { try outbox.write("d/e/f\(index)") }
        desk.load.report(3)
        outbox.watch.start()
        try await Poll.until("a deferred directory") { outbox.watch.counters.deferred == 1 }
        try FileManager.default.removeItem(atPath: outbox.path("d/e"))
        desk.load.report(0)
        try await outbox.sees("the end of the scan") { $0.hasPrefix("scanned") }
        try await outbox.sees("deferring false")
    }

    @Test func `a watch that waits for room sleeps`() async throws {
        let desk = try Desk()
        let outbox = desk.outbox
        for index in 0..<10 { try outbox.write("f\(index)") }
        outbox.watch.start()
        try await outbox.sees("deferring true")
        var rounds: UInt64 = 0
        try await Poll.until("a round without another one after it", every: .milliseconds(200)) {
            defer { rounds = outbox.watch.counters.rounds }
            return rounds == outbox.watch.counters.rounds
        }
        try await desk.workUntil("all files") { try desk.knowsDisk() }
    }

    @Test func `files with a writer do not keep others waiting`() async throws {
        let desk = try Desk(settle: .milliseconds(20))
        let outbox = desk.outbox
        var writers: [Writer] = []
        for index in 0..<6 { writers.append(try Writer(outbox.path("slow\(index)"))) }
        try outbox.write("a")
        outbox.watch.start()
        try await desk.workUntil("a") { desk.known.count == 1 }
        for writer in writers { writer.close() }
        try await desk.workUntil("all files") { try desk.knowsDisk() }
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `in a random walk, the user ends up knowing the files on disk without a further scan`(seed: UInt64)
        async throws
    {
        // No names, some names, all names.
        let desk = try Desk(settle: .milliseconds(5), nameLimit: [0, 400, 1 << 20][Int(seed % 3)])
        var walk = Walk(desk: desk, seed: seed)
        try await desk.outbox.start()
        for _ in 0..<150 {
            try walk.step()
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...4, using: &walk.random)))
        }
        desk.load.report(0)
        try await desk.workUntil("the files of seed \(seed)") { try desk.knowsDisk() }
        #expect(desk.outbox.scans.count == 1)
    }
}

/// Random changes of an outbox and of the load.
private struct Walk {
    let desk: Desk
    var random: SeededRandom
    private var directories = [""]
    private var made = 0

    init(desk: Desk, seed: UInt64) {
        self.desk = desk
        random = SeededRandom(seed: seed)
    }

    private mutating func chance(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
    private mutating func directory() -> String { directories[chance(directories.count)] }
    private mutating func file() -> String { directory() + "f\(chance(8))" }

    /// Changes something. Ignores changes that are impossible now.
    mutating func step() throws {
        let outbox = desk.outbox
        switch chance(12) {
        case 0, 1, 2: try outbox.write(file(), String(repeating: "x", count: chance(100)))
        case 3:
            let place = directory()
            for index in 0..<8 where chance(2) == 0 { try outbox.write("\(place)f\(index)", "y") }
        case 4, 5: _ = rename(outbox.path(file()), outbox.path(file()))
        case 6: _ = unlink(outbox.path(file()))
        case 7: try moveIn(file())
        case 8: try makeDirectory()
        case 9: try changeDirectory()
        case 10: desk.load.report(chance(2) * 3)
        default: desk.work(chance(4))
        }
    }

    private func moveIn(_ name: String) throws {
        let outside = desk.outbox.directory.path("outside")
        let file = try Writer(outside)
        try file.append("z")
        file.close()
        _ = rename(outside, desk.outbox.path(name))
    }

    private mutating func makeDirectory() throws {
        made += 1
        let name = "\(directory())d\(made)"
        try desk.outbox.makeDirectory(name)
        directories.append("\(name)/")
    }

    /// Renames a directory, moves it out and back, or removes it.
    private mutating func changeDirectory() throws {
        let old = directory()
        if old.isEmpty { return }
        made += 1
        let parent = directories.filter { !$0.hasPrefix(old) }
        let new = "\(parent[chance(parent.count)])d\(made)/"
        let outbox = desk.outbox
        let choice = chance(3)
        if choice == 0 {
            try FileManager.default.removeItem(atPath: outbox.path(old))
            directories.removeAll { $0.hasPrefix(old) }
            return
        }
        if choice == 1 {
            let outside = outbox.directory.path("away")
            #expect(rename(outbox.path(String(old.dropLast())), outside) == 0)
            #expect(rename(outside, outbox.path(String(new.dropLast()))) == 0)
        } else {
            #expect(rename(outbox.path(String(old.dropLast())), outbox.path(String(new.dropLast()))) == 0)
        }
        directories = directories.map { $0.hasPrefix(old) ? new + $0.dropFirst(old.count) : $0 }
    }
}
