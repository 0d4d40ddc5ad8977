import Testing
import UploadCore

@testable import Avatars

struct `What is trimmed` {
    private static let hour: Int64 = 3_600_000

    /// An original of 10 bytes, with 5 bytes of styled pictures. Times are in hours.
    private static func entry(_ name: String, fetched: Int64 = 0, used: Int64 = 0) throws -> AvatarEntry {
        let address = try AvatarAddress("http://h/\(name)")
        return AvatarEntry(
            address: address, record: .sample(address, fetchedAt: fetched * hour), size: 10, styles: ["list"],
            styledSize: 5, usedAt: WallTime(milliseconds: used * hour))
    }

    private static func names(of addresses: [AvatarAddress]) -> [String] { addresses.map { $0.place[1] } }

    private static func trimming(
        size: UInt64, age: Duration? = nil, now: Int64 = 100, pinned: Set<AvatarAddress> = []
    ) -> Trimming {
        Trimming(
            maximumSize: size, maximumAge: age, now: WallTime(milliseconds: now * hour), pinned: pinned)
    }

    @Test(
        arguments: [(45, []), (44, ["b"]), (30, ["b"]), (29, ["b", "c"]), (0, ["b", "c", "a"])] as [(UInt64, [String])])
    func `as much goes as must, least recently used first`(size: UInt64, going: [String]) throws {
        let entries = [
            try Self.entry("a", used: 30), try Self.entry("b", used: 10), try Self.entry("c", used: 20),
        ]
        #expect(Self.names(of: Self.trimming(size: size).outcome(of: entries).removed) == going)
    }

    @Test func `what was used at one time goes in the order of URLs`() throws {
        let entries = [try Self.entry("b"), try Self.entry("a"), try Self.entry("c")]
        #expect(Self.names(of: Self.trimming(size: 15).outcome(of: entries).removed) == ["a", "b"])
    }

    @Test func `age counts from when a picture was fetched, however often it is used`() throws {
        let entries = [
            try Self.entry("old", fetched: 69, used: 100), try Self.entry("border", fetched: 70, used: 0),
            try Self.entry("new", fetched: 99, used: 0),
        ]
        #expect(
            Self.names(of: Self.trimming(size: 1000, age: .seconds(30 * 3600)).outcome(of: entries).removed) == ["old"])
        #expect(Self.trimming(size: 1000).outcome(of: entries).removed.isEmpty)
    }

    @Test func `what is pinned stays, and takes its room`() throws {
        let entries = [try Self.entry("a", used: 1), try Self.entry("b", used: 2), try Self.entry("c", used: 3)]
        let pinned: Set = [entries[0].address]
        #expect(Self.names(of: Self.trimming(size: 30, pinned: pinned).outcome(of: entries).removed) == ["b"])
        #expect(
            Self.names(of: Self.trimming(size: 0, age: .zero, pinned: pinned).outcome(of: entries).removed) == [
                "b", "c",
            ])
    }

    @Test func `a clock that was set back trims nothing by age`() throws {
        let entries = [try Self.entry("a", fetched: 500)]
        #expect(Self.trimming(size: 1000, age: .zero).outcome(of: entries).removed.isEmpty)
    }
}
