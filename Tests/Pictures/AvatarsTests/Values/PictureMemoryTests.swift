import PictureJobs
import TestSupport
import Testing

@testable import Avatars

struct `Pictures in memory` {
    private static func address(_ name: some CustomStringConvertible) throws -> AvatarAddress {
        try AvatarAddress("http://h/\(name)")
    }

    @Test func `what costs too much together goes, least recently used first`() throws {
        var memory = PictureMemory<String>(costLimit: 30)
        for name in ["a", "b", "c"] { memory.insert(name, cost: 10, for: try Self.address(name), .small) }
        #expect(memory.picture(try Self.address("a"), .small) == "a")
        memory.insert("d", cost: 10, for: try Self.address("d"), .small)
        #expect(memory.picture(try Self.address("b"), .small) == nil)
        #expect(memory.picture(try Self.address("a"), .small) == "a")
        #expect(memory.cost == 30)
        #expect(memory.count == 3)
    }

    @Test func `styles of one address are pictures of their own`() throws {
        var memory = PictureMemory<String>(costLimit: 100)
        let address = try Self.address("a")
        memory.insert("small", cost: 1, for: address, .small)
        memory.insert("round", cost: 1, for: address, .round)
        let list = try #require(PictureStyle(name: "list", steps: [.rect(width: 1, height: 1)]))
        let changed = try #require(PictureStyle(name: "list", steps: [.rect(width: 2, height: 2)]))
        memory.insert("list", cost: 1, for: address, list)
        #expect(memory.picture(address, .small) == "small")
        #expect(memory.picture(address, .round) == "round")
        #expect(memory.picture(address, changed) == nil)
        memory.remove(address, .small)
        #expect(memory.picture(address, .small) == nil)
        memory.removeAll(of: address)
        #expect(memory.picture(address, list) == nil)
        #expect(memory.cost == 0)
    }

    @Test func `a picture replaces the one before with its cost`() throws {
        var memory = PictureMemory<String>(costLimit: 10)
        let address = try Self.address("a")
        memory.insert("one", cost: 8, for: address, .small)
        memory.insert("two", cost: 4, for: address, .small)
        #expect(memory.picture(address, .small) == "two")
        #expect(memory.cost == 4)
    }

    @Test func `what costs more than the limit is not kept, and drives nothing out`() throws {
        var memory = PictureMemory<String>(costLimit: 10)
        memory.insert("small", cost: 5, for: try Self.address("a"), .small)
        memory.insert("large", cost: 11, for: try Self.address("b"), .small)
        #expect(memory.picture(try Self.address("b"), .small) == nil)
        #expect(memory.picture(try Self.address("a"), .small) == "small")
    }

    @Test func `a lower limit and emptying take effect at once`() throws {
        var memory = PictureMemory<String>(costLimit: 30)
        for name in ["a", "b", "c"] { memory.insert(name, cost: 10, for: try Self.address(name), .small) }
        memory.costLimit = 15
        #expect(memory.count == 1)
        #expect(memory.picture(try Self.address("c"), .small) == "c")
        memory.removeAll()
        #expect(memory.count == 0 && memory.cost == 0)
        memory.insert("d", cost: 10, for: try Self.address("d"), .small)
        #expect(memory.picture(try Self.address("d"), .small) == "d")
    }

    /// Compares the memory with a model: a plain list, searched linearly.
    @Test(arguments: [1, 2, 3])
    func `it does what a plain list does`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var memory = PictureMemory<Int>(costLimit: 50)
        var model: [(address: AvatarAddress, style: PictureStyle, picture: Int, cost: Int)] = []
        let addresses = try (0..<8).map(Self.address)
        for picture in 0..<3000 {
            let address = addresses[Int.random(in: 0..<8, using: &random)]
            let style = Bool.random(using: &random) ? PictureStyle.small : .round
            let index = model.firstIndex { $0.address == address && $0.style == style }
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                memory.removeAll(of: address)
                model.removeAll { $0.address == address }
            case 1...9:
                if let index { model.append(model.remove(at: index)) }
                #expect(memory.picture(address, style) == (index == nil ? nil : model.last?.picture))
            default:
                let cost = Int.random(in: 1...60, using: &random)
                memory.insert(picture, cost: cost, for: address, style)
                if let index { model.remove(at: index) }
                if cost <= 50 { model.append((address, style, picture, cost)) }
                while model.reduce(0, { $0 + $1.cost }) > 50 { model.removeFirst() }
            }
            #expect(memory.cost == model.reduce(0) { $0 + $1.cost } && memory.count == model.count)
        }
    }
}
