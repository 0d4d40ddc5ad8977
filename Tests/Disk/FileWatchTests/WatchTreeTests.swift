import Testing
import UploadCore

@testable import FileWatch

@Suite final class WatchTreeTests {
    private var tree = WatchTree()

    private func add(_ path: String, watch: Int32? = nil) throws -> WatchTree.ID {
        var id = WatchTree.root
        for part in try relative(path).parts { id = try #require(child(part, of: id)).id }
        if let watch { _ = tree.bind(watch, to: id) }
        return id
    }

    private func child(_ name: ArraySlice<UInt8>, of parent: WatchTree.ID) -> (id: WatchTree.ID, isNew: Bool)? {
        tree.add(Array(name), to: parent)
    }

    private func move(_ id: WatchTree.ID, to parent: WatchTree.ID, as name: String) -> Set<Int32>? {
        tree.move(id, to: parent, as: Array(name.utf8)).map(Set.init)
    }

    private func remove(_ id: WatchTree.ID) -> Set<Int32> { Set(tree.remove(id)) }

    private func bind(_ watch: Int32, to id: WatchTree.ID) -> Int32? { tree.bind(watch, to: id) }

    @Test func `a watch leads to the path of its directory`() throws {
        _ = try add("a/b/c", watch: 7)
        let id = try #require(tree.directory(of: 7))
        #expect(tree.path(id) == (try relative("a/b/c")))
        #expect(tree.find(try relative("a/b/c")) == id)
    }

    @Test func `adding a directory twice finds it`() throws {
        let first = try add("a")
        #expect(try #require(child(Array("a".utf8)[...], of: WatchTree.root)) == (first, false))
    }

    @Test func `moving a directory moves everything below it`() throws {
        let a = try add("a", watch: 1)
        let deep = try add("a/b/c", watch: 2)
        let target = try add("x")
        #expect(move(a, to: target, as: "y") == [])
        #expect(tree.path(deep) == (try relative("x/y/b/c")))
        #expect(tree.directory(of: 2) == deep)
        #expect(tree.find(try relative("a")) == nil)
    }

    @Test func `moving onto a directory ends the watches below it`() throws {
        let a = try add("a", watch: 1)
        _ = try add("b", watch: 2)
        _ = try add("b/c", watch: 3)
        let displaced = move(a, to: WatchTree.root, as: "b")
        #expect(displaced == [2, 3])
        #expect(tree.find(try relative("b")) == a)
        #expect(tree.directory(of: 3) == nil)
    }

    @Test func `a directory cannot come to lie within itself`() throws {
        let a = try add("a")
        let inner = try add("a/b")
        #expect(move(a, to: inner, as: "c") == nil)
        #expect(tree.find(try relative("a/b")) == inner)
    }

    @Test func `removing a directory gives back all its watches`() throws {
        let a = try add("a", watch: 1)
        let inner = try add("a/b", watch: 2)
        #expect(remove(a) == [1, 2])
        #expect(tree.path(inner) == nil)
        #expect(tree.count == 1)
    }

    @Test func `the root is never removed`() {
        _ = tree.bind(1, to: WatchTree.root)
        #expect(remove(WatchTree.root) == [])
        #expect(tree.path(WatchTree.root) == .root)
    }

    @Test func `a new watch replaces the old one of a directory`() throws {
        let a = try add("a", watch: 1)
        #expect(bind(5, to: a) == 1)
        #expect(tree.directory(of: 1) == nil)
    }

    @Test func `a watch that turns up elsewhere leaves the directory it was taken for`() throws {
        let a = try add("a", watch: 1)
        let b = try add("b")
        #expect(bind(1, to: b) == nil)
        #expect(tree.watch(of: a) == nil)
        #expect(tree.directory(of: 1) == b)
    }

    @Test func `directories that were not listed yet are found`() throws {
        let a = try add("a")
        let b = try add("a/b")
        let c = try add("a/b/c")
        tree.markListed(b)
        #expect(Set(tree.unlisted(at: a)) == [a, c])
    }
}
