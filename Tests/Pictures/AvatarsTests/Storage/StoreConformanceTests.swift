import PictureJobs
import TestSupport
import Testing
import UploadCore

@testable import Avatars

/// The kinds of stores under test.
enum StoreKind: CaseIterable, CustomTestStringConvertible {
    case disk, memory

    var testDescription: String { self == .disk ? "disk" : "memory" }

    /// Makes an empty store. Hold `place` as long as you use the store.
    func make() throws -> (store: any AvatarStore, place: TemporaryDirectory) {
        let place = try TemporaryDirectory()
        return (self == .disk ? try DiskAvatarStore(directory: place.path("avatars")) : MemoryAvatarStore(), place)
    }
}

@Suite struct `Every store of pictures` {
    @Test(arguments: StoreKind.allCases)
    func `gives back what it keeps`(kind: StoreKind) throws {
        let (store, place) = try kind.make()
        defer { place.close() }
        let address = try AvatarAddress("https://example.com/u/1.jpg")
        #expect(try store.original(of: address) == nil)
        let kept = try store.keep(store.draft("one"), asOriginalOf: address, .sample(address, tag: "a"))
        #expect(kept.text == "one")
        #expect(kept.size == 3)
        let found = try #require(try store.original(of: address))
        #expect(found.picture.text == "one")
        #expect(found.record == .sample(address, tag: "a"))
    }

    @Test(arguments: StoreKind.allCases)
    func `takes http and https for one entry`(kind: StoreKind) throws {
        let (store, place) = try kind.make()
        defer { place.close() }
        let address = try AvatarAddress("https://example.com/u/1.jpg")
        _ = try store.keep(store.draft("one"), asOriginalOf: address, .sample(address))
        #expect(try store.original(of: AvatarAddress("http://example.com/u/1.jpg"))?.picture.text == "one")
        #expect(try store.original(of: AvatarAddress("https://example.com:8443/u/1.jpg")) == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `shows a draft to nobody before it is kept`(kind: StoreKind) throws {
        let (store, place) = try kind.make()
        defer { place.close() }
        let address = try AvatarAddress("https://example.com/u/1.jpg")
        _ = try store.draft("one")
        #expect(try store.original(of: address) == nil)
        #expect(try store.entries().isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `drops what was drawn from an original when there is a new one`(kind: StoreKind) throws {
        let (store, place) = try kind.make()
        defer { place.close() }
        let address = try AvatarAddress("https://example.com/u/1.jpg")
        let original = try store.keep(store.draft("one"), asOriginalOf: address, .sample(address))
        let drawn = try store.keep(store.draft("drawn"), asStyled: address, .small, drawnFrom: original)
        #expect(drawn.text == "drawn")
        #expect(try store.styled(address, .small)?.text == "drawn")
        #expect(try store.styled(address, .round) == nil)
        let replaced = try store.keep(store.draft("two"), asOriginalOf: address, .sample(address, tag: "b"))
        #expect(try store.styled(address, .small) == nil)
        #expect(try store.original(of: address)?.picture.text == "two")
        #expect(original.text == "one", "who reads the former one reads it to its end")
        #expect(replaced.text == "two")
    }

    @Test(arguments: StoreKind.allCases)
    func `does not keep what was drawn from a former original`(kind: StoreKind) throws {
        let (store, place) = try kind.make()
        defer { place.close() }
        let address = try AvatarAddress("https://example.com/u/1.jpg")
        let former = try store.keep(store.draft("one"), asOriginalOf: address, .sample(address))
        _ = try store.keep(store.draft("two"), asOriginalOf: address, .sample(address))
        let late = try store.keep(store.draft("drawn of one"), asStyled: address, .small, drawnFrom: former)
        #expect(late.text == "drawn of one")
        #expect(late.path == nil)
        #expect(try store.styled(address, .small) == nil)
        #expect(try store.entries().map(\.styles) == [[]])
    }

    @Test(arguments: StoreKind.allCases)
    func `does not show a style that was drawn by other steps`(kind: StoreKind) throws {
        let (store, place) = try kind.make()
        defer { place.close() }
        let address = try AvatarAddress("https://example.com/u/1.jpg")
        let before = try #require(PictureStyle(name: "list", steps: [.rect(width: 96, height: 96)]))
        let after = try #require(PictureStyle(name: "list", steps: [.rect(width: 64, height: 64)]))
        let original = try store.keep(store.draft("one"), asOriginalOf: address, .sample(address))
        _ = try store.keep(store.draft("96"), asStyled: address, before, drawnFrom: original)
        #expect(try store.styled(address, after) == nil)
        _ = try store.keep(store.draft("64"), asStyled: address, after, drawnFrom: original)
        #expect(try store.styled(address, after)?.text == "64")
        #expect(try store.styled(address, before) == nil)
        #expect(try store.entries().map(\.styles) == [["list"]])
    }

    @Test(arguments: StoreKind.allCases)
    func `changes what is known without touching the pictures`(kind: StoreKind) throws {
        let (store, place) = try kind.make()
        defer { place.close() }
        let address = try AvatarAddress("https://example.com/u/1.jpg")
        let original = try store.keep(store.draft("one"), asOriginalOf: address, .sample(address, tag: "a"))
        _ = try store.keep(store.draft("drawn"), asStyled: address, .small, drawnFrom: original)
        try store.update(.sample(address, tag: "b", fetchedAt: 5000), of: address)
        #expect(try store.original(of: address)?.record == .sample(address, tag: "b", fetchedAt: 5000))
        #expect(try store.original(of: address)?.picture.text == "one")
        #expect(try store.styled(address, .small)?.text == "drawn")
        try store.update(.sample(address), of: AvatarAddress("https://example.com/nothing"))
        #expect(try store.entries().count == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `tells everything it keeps`(kind: StoreKind) throws {
        let (store, place) = try kind.make()
        defer { place.close() }
        let one = try AvatarAddress("https://example.com/u/1.jpg")
        let two = try AvatarAddress("https://example.com/u/2.jpg?size=2")
        let original = try store.keep(store.draft("one"), asOriginalOf: one, .sample(one, fetchedAt: 7_000_000))
        _ = try store.keep(store.draft("drawn"), asStyled: one, .small, drawnFrom: original)
        _ = try store.keep(store.draft("round"), asStyled: one, .round, drawnFrom: original)
        _ = try store.keep(store.draft("two"), asOriginalOf: two, .sample(two, fetchedAt: 9_000_000))
        store.touch(one, at: WallTime(milliseconds: 8_000_000))
        let entries = try store.entries().sorted { $0.record.url < $1.record.url }
        #expect(
            entries == [
                AvatarEntry(
                    address: one, record: .sample(one, fetchedAt: 7_000_000), size: 3,
                    styles: ["rect:96x96", "round:96x96,r=48,b=2"], styledSize: 10,
                    usedAt: WallTime(milliseconds: 8_000_000)),
                AvatarEntry(
                    address: two, record: .sample(two, fetchedAt: 9_000_000), size: 3, styles: [], styledSize: 0,
                    usedAt: WallTime(milliseconds: 9_000_000)),
            ])
    }

    @Test(arguments: StoreKind.allCases)
    func `removes an original with all that was drawn from it`(kind: StoreKind) throws {
        let (store, place) = try kind.make()
        defer { place.close() }
        let one = try AvatarAddress("https://example.com/u/1.jpg")
        let two = try AvatarAddress("https://example.com/u/2.jpg")
        let original = try store.keep(store.draft("one"), asOriginalOf: one, .sample(one))
        _ = try store.keep(store.draft("drawn"), asStyled: one, .small, drawnFrom: original)
        _ = try store.keep(store.draft("two"), asOriginalOf: two, .sample(two))
        try store.remove(one)
        try store.remove(one)
        #expect(try store.original(of: one) == nil)
        #expect(try store.styled(one, .small) == nil)
        #expect(try store.original(of: two)?.picture.text == "two")
        #expect(try store.entries().map(\.address) == [two])
    }

    @Test(arguments: StoreKind.allCases)
    func `trims by age, then by use, and spares what is pinned`(kind: StoreKind) throws {
        let (store, place) = try kind.make()
        defer { place.close() }
        let minute: Int64 = 60_000
        // The pictures arrive in this order, 100 bytes each.
        let addresses = try (0..<6).map { try AvatarAddress("https://example.com/\($0)") }
        let picture = String(repeating: "x", count: 100)
        for (index, address) in addresses.enumerated() {
            _ = try store.keep(
                store.draft(picture), asOriginalOf: address, .sample(address, fetchedAt: Int64(index) * minute))
        }
        // Picture 3 is the most recently used, picture 2 the second.
        store.touch(addresses[2], at: WallTime(milliseconds: 20 * minute))
        store.touch(addresses[3], at: WallTime(milliseconds: 30 * minute))
        let going = try store.trim(
            maximumSize: 300, maximumAge: .seconds(60 * 29), now: WallTime(milliseconds: 30 * minute),
            sparing: { $0 == addresses[4] })
        #expect(going.tooOld == [addresses[0]])
        #expect(going.tooMuch == [addresses[1], addresses[5]])
        #expect(going.kept == AvatarTotals(count: 3, bytes: 300))
        #expect(Set(try store.entries().map(\.address)) == [addresses[2], addresses[3], addresses[4]])
        #expect(
            try store.trim(
                maximumSize: 0, maximumAge: .zero, now: WallTime(milliseconds: 99 * minute),
                sparing: { $0 == addresses[4] }
            ).removed.count == 2)
        #expect(try store.entries().map(\.address) == [addresses[4]])
    }

    @Test(arguments: StoreKind.allCases)
    func `counts styled pictures when it trims`(kind: StoreKind) throws {
        let (store, place) = try kind.make()
        defer { place.close() }
        let address = try AvatarAddress("https://example.com/1")
        let original = try store.keep(store.draft("12345"), asOriginalOf: address, .sample(address))
        _ = try store.keep(store.draft("67890"), asStyled: address, .small, drawnFrom: original)
        let now = WallTime(milliseconds: 2000)
        #expect(try store.trim(maximumSize: 10, maximumAge: nil, now: now, sparing: { _ in false }).removed.isEmpty)
        #expect(try store.trim(maximumSize: 9, maximumAge: nil, now: now, sparing: { _ in false }).removed == [address])
    }
}
