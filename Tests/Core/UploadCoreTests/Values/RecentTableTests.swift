import Testing
import UploadCore

@Suite("Recent table")
struct RecentTableTests {
    private var table = RecentTable<String, Int>(generation: 2)

    @Test("keeps at least one generation, and forgets what was set longest ago")
    mutating func generations() {
        for (value, key) in ["a", "b", "c"].enumerated() { table[key] = value }
        let kept = [table["a"], table["b"], table["c"]]
        #expect(kept == [0, 1, 2])
        table["d"] = 3
        let left = [table["a"], table["b"], table["c"], table["d"]]
        #expect(left == [nil, nil, 2, 3])
    }

    @Test("an update sees the value of either generation, and counts as setting it")
    mutating func update() {
        for (value, key) in ["a", "b", "c"].enumerated() { table[key] = value }
        let seen = table.update("a") { value in
            defer { value = 10 }
            return value
        }
        #expect(seen == 0)
        let left = [table["a"], table["b"], table["c"]]
        #expect(left == [10, nil, 2])
        #expect(table.count == 2)
    }

    @Test("an update can remove a value, or leave none")
    mutating func removal() {
        for (value, key) in ["a", "b", "c"].enumerated() { table[key] = value }
        for key in ["a", "c", "z"] { table.update(key) { $0 = nil } }
        let left = [table["a"], table["b"], table["c"], table["z"]]
        #expect(left == [nil, 1, nil, nil])
        #expect(table.count == 1)
    }
}
