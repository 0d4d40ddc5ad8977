import Testing
import UploadCore

@Suite("Values by path")
struct PathMapTests {
    private func path(_ text: String) throws -> RelativePath { try #require(RelativePath(text)) }

    @Test("work after many were removed, and their memory was given back")
    func emptied() throws {
        var map = PathMap<Int>()
        for round in 0..<2 {
            let paths = try (0..<1000).map { try path("\($0 % 7)/\($0)") }
            for (number, path) in paths.enumerated() { map[path] = number + round }
            #expect(map.paths(within: try path("3")).count == 143)
            for path in paths { map[path] = nil }
            #expect(map.isEmpty)
            #expect(map.paths(within: .root).isEmpty)
        }
    }

    @Test("are found by their directories after any insertions and removals")
    func model() throws {
        var random = WalkRandom(seed: 7)
        var map = PathMap<Int>()
        var model: [RelativePath: Int] = [:]
        let names = ["a", "b", "ab", "c"]
        func anyPath() throws -> RelativePath {
            let depth = Int.random(in: 1...4, using: &random)
            return try path((0..<depth).map { _ in names.randomElement(using: &random) ?? "a" }.joined(separator: "/"))
        }
        for number in 0..<5000 {
            let place = try anyPath()
            if Int.random(in: 0..<5, using: &random) < 2 {
                map[place] = number
                model[place] = number
            } else {
                #expect(map.removeValue(forKey: place) == model.removeValue(forKey: place))
            }
            let directory = number % 50 == 0 ? .root : try anyPath()
            #expect(Set(map.paths(within: directory)) == Set(model.keys.filter { $0.isWithin(directory) }))
            #expect(map.paths(within: directory).count == Set(map.paths(within: directory)).count)
            #expect(map[place] == model[place])
        }
        #expect(map.count == model.count && Set(map.keys) == Set(model.keys))
        for place in model.keys { map[place] = nil }
        #expect(map.isEmpty && map.paths(within: .root).isEmpty)
    }
}
