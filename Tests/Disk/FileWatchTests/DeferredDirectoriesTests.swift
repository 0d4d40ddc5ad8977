import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import FileWatch

@Suite final class DeferredDirectoriesTests {
    private var deferred = DeferredDirectories(nameLimit: 10_000)
    /// With its number and the list's overhead, a name takes 100 bytes.
    private let name = String(repeating: "n", count: 95)

    private func add(_ id: WatchTree.ID, _ name: String = "f") { deferred.add(Array(name.utf8), in: id) }

    private func names(_ visit: DeferredDirectories.Visit) -> [String]? {
        visit.names.map { list in list.map { String(decoding: $0.name, as: UTF8.self) } }
    }

    private func postpone(_ visit: DeferredDirectories.Visit, at time: UInt64) -> Bool {
        deferred.postpone(visit, now: at(time))
    }

    private func visit(at time: UInt64 = 0) throws -> DeferredDirectories.Visit {
        let visit = deferred.next(now: at(time))
        return try #require(visit)
    }

    @Test func `the oldest and the newest directory are visited in turn`() throws {
        for id in 1...5 { add(id) }
        var order: [Int] = []
        while !deferred.isEmpty {
            let visit = try self.visit()
            order.append(visit.id)
            deferred.end(visit, now: at(0))
        }
        #expect(order == [1, 5, 2, 4, 3])
    }

    @Test func `a directory counts until its visit is over, and once if it waits for another visit`() throws {
        for id in 1...3 { add(id) }
        #expect(deferred.count == 3)
        let visit = try self.visit()
        deferred.putBack(visit)
        #expect(deferred.count == 3)
        add(visit.id)
        #expect(deferred.count == 3)
        while !deferred.isEmpty { deferred.end(try self.visit(), now: at(0)) }
        #expect(deferred.count == 0)
    }

    @Test func `two visits share the time until one of them is over`() throws {
        for id in 1...3 { add(id) }
        for expected in [1, 3, 1, 3, 1] {
            let visit = try self.visit()
            #expect(visit.id == expected)
            deferred.putBack(visit)
        }
        let visit = try self.visit()
        deferred.end(visit, now: at(0))
        let last = try self.visit()
        #expect(last.id == 2)
    }

    @Test func `a directory is visited once for all requests before the visit, and again for one during it`() throws {
        add(1)
        add(1)
        let first = try visit()
        add(1)
        deferred.end(first, now: at(0))
        let second = try visit()
        deferred.end(second, now: at(0))
        #expect(deferred.isEmpty)
    }

    @Test func `a visit knows the names of its files, and each once if its events come in a row`() throws {
        for name in ["a", "a", "b", "c", "b"] { add(1, name) }
        add(2, "d")
        let first = try visit()
        #expect(names(first) == ["a", "b", "c", "b"])
        add(1, "e")
        let second = try visit()
        #expect(names(second) == ["e"])
        #expect(!deferred.willList(1) && !deferred.willList(2))
    }

    @Test func `a directory is listed if its names need more than a quarter of the limit`() throws {
        add(2, "few")
        for index in 0..<24 { add(1, "\(index) \(name)") }
        #expect(!deferred.willList(1))
        for index in 24..<26 { add(1, "\(index) \(name)") }
        #expect(deferred.willList(1) && !deferred.willList(2))
        add(1, "more")
        #expect(names(try visit()) == ["few"])
        #expect(names(try visit()) == nil)
    }

    @Test func `the names of all directories share one limit, until their visits are over`() throws {
        var id = 0
        repeat {
            id += 1
            for index in 0..<20 { add(id, "\(index) \(name)") }
        } while !deferred.willList(id) && id < 100
        #expect(id == 5)
        let first = try visit()
        deferred.putBack(first)
        for index in 0..<20 { add(6, "\(index) \(name)") }
        #expect(deferred.willList(6))
        while !deferred.isEmpty { deferred.end(try visit(), now: at(0)) }
        for index in 0..<20 { add(7, "\(index) \(name)") }
        #expect(!deferred.willList(7))
    }

    @Test func `a directory is listed if a file without a name is deferred`() throws {
        add(1, "a")
        deferred.add(nil, in: 1)
        add(1, "b")
        #expect(deferred.willList(1))
        #expect(names(try visit()) == nil)
    }

    @Test func `a request is done when its visit and all earlier ones are over`() throws {
        add(1)
        add(2)
        let request = deferred.last
        let first = try visit()
        deferred.putBack(first)
        let second = try visit()
        #expect(second.id == 2)
        deferred.end(second, now: at(0))
        #expect(!deferred.isDone(through: request))
        add(1)
        let again = try visit()
        deferred.putBack(again)
        let rest = try visit()
        #expect(rest.id == 1)
        deferred.end(rest, now: at(0))
        #expect(deferred.isDone(through: request))
        #expect(!deferred.isEmpty)
    }

    @Test func `a directory that took long rests four times as long, and others do not`() throws {
        add(1)
        var long = try visit()
        long.spend(.seconds(1), hadNews: false)
        deferred.end(long, now: at(1000))
        add(1)
        let none = deferred.next(now: at(4999))
        #expect(none == nil)
        #expect(deferred.due(now: at(4999)) == at(5000))
        add(2)
        #expect(deferred.due(now: at(4999)) == at(4999))
        let short = try visit(at: 4999)
        #expect(short.id == 2)
        deferred.end(short, now: at(4999))
        let rested = try visit(at: 5000)
        #expect(rested.id == 1)
    }

    @Test func `a directory full of new files does not rest`() throws {
        add(1)
        var fruitful = try visit()
        fruitful.spend(.seconds(1), hadNews: true)
        deferred.end(fruitful, now: at(1000))
        add(1)
        #expect(deferred.due(now: at(1000)) == at(1000))
    }

    @Test func `a directory that is not at its place is visited again, in its turn`() throws {
        for id in 1...3 { add(id) }
        let request = deferred.last
        #expect(postpone(try visit(), at: 1000))
        #expect(deferred.count == 3)
        for _ in 2...3 { deferred.end(try visit(at: 1000), now: at(1000)) }
        #expect(!deferred.isDone(through: request))
        let none = deferred.next(now: at(1099))
        #expect(none == nil)
        #expect(deferred.due(now: at(1099)) == at(1100))
        let again = try visit(at: 1100)
        #expect(again.id == 1)
        deferred.end(again, now: at(1100))
        #expect(deferred.isDone(through: request) && deferred.isEmpty)
    }

    @Test func `a directory that does not come to its place is visited eleven times, and keeps its names`() throws {
        add(1, "a")
        for round in 0..<10 as Range<UInt64> {
            #expect(postpone(try visit(at: round * 100), at: round * 100))
        }
        let last = try visit(at: 1000)
        #expect(names(last) == ["a"])
        #expect(!postpone(last, at: 1000))
        deferred.end(last, now: at(1000))
        #expect(deferred.isEmpty)
    }
}

@Suite struct IntakeLoadTests {
    private func isSignalled(_ wakeup: Wakeup) -> Bool {
        var entry = pollfd(fd: wakeup.rawValue, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 1
    }

    @Test func `the watch wakes once the load has fallen to its mark`() throws {
        let wakeup = try Wakeup()
        let load = IntakeLoad(window: 8) { 2 }
        load.attach(wakeup)
        load.report(0)
        #expect(load.count == 2 && !isSignalled(wakeup))
        load.report(6)
        #expect(!load.wake(at: 4))
        load.report(3)
        #expect(!isSignalled(wakeup))
        load.report(2)
        #expect(isSignalled(wakeup))
        #expect(load.wake(at: 4))
    }

    @Test func `a watch whose own files fill the window waits for nobody`() throws {
        let wakeup = try Wakeup()
        let load = IntakeLoad(window: 8)
        load.attach(wakeup)
        #expect(!load.wake(at: -1))
        load.report(0)
        #expect(!isSignalled(wakeup))
    }
}

@Suite struct NameListTests {
    @Test func `a list gives every name of a directory once, and again when rewound`() throws {
        let directory = try TemporaryDirectory()
        let names = ["a", "b c", "\u{e9}", String(repeating: "n", count: 255)]
        for name in names { try Writer(directory.path(name)).close() }
        #expect(mkdir(directory.path("d"), 0o700) == 0)
        var list = try NameList(of: Directory(path: directory.path))
        var found: [String: Bool?] = [:]
        while let (name, isDirectory) = list.next() { found[String(decoding: name, as: UTF8.self)] = isDirectory }
        #expect(Set(found.keys) == Set(names + ["d"]))
        #expect(found["d"] != .some(false) && found["a"] != .some(true))
        #expect(list.isAtEnd && !list.rewound.isAtEnd)
        #expect(list.rewound.reduce(into: 0) { count, _ in count += 1 } == 5)
    }

    @Test func `the list of an empty directory is at its end`() throws {
        let directory = try TemporaryDirectory()
        var list = try NameList(of: Directory(path: directory.path))
        let none = list.next()
        #expect(list.isAtEnd && none == nil)
    }
}
