import Glibc
import TestSupport
import Testing

@testable import Ledger

struct FileMapsTests {
    @Test(arguments: [
        ("7f0000001000-7f0000003000 r--s 00000000 fd:00 42                       /state/a b", true),
        ("7f0000001000-7f0000003000 r--s 00000000 fd:00 42", true),
        ("7f0000001000-7f0000003000 r--s 00000000 fd:00 421 /state/ledger.lmdb", false),
        ("7f0000001000-7f0000003000 rw-s 00000000 fd:00 42 /state/ledger.lmdb", false),
        ("7f0000001000-7f0000003000 r--p 00000000 fd:00 42 /state/ledger.lmdb", false),
        ("7f0000003000-7f0000001000 r--s 00000000 fd:00 42 /state/ledger.lmdb", false),
        ("x r--s 00000000 fd:00 42 /state/ledger.lmdb", false),
        ("", false),
    ])
    func onlySharedReadOnlyMapsOfTheFileAreFound(line: String, isFound: Bool) {
        let expected = FileMaps.Range(start: UnsafeMutableRawPointer(bitPattern: 0x7f00_0000_1000), length: 8192)
        #expect(FileMaps.readOnly(ofFile: 42, in: line) == (isFound ? expected : nil))
    }

    @Test func recordsAreReadAgainAfterTheirPagesWereUnmapped() throws {
        let directory = try TemporaryDirectory()
        let environment = try Environment(path: directory.path("db"), tables: ["a"], mapSize: 64 << 20)
        let table = environment.tables[0]
        let key: [UInt8] = [1]
        try environment.write { transaction throws(LMDBError) in try transaction.put(table, key, [2]) }
        var status = stat()
        #expect(stat(directory.path("db"), &status) == 0)
        #expect(FileMaps.readOnly(ofFile: UInt64(status.st_ino)).map(\.length) == [64 << 20])
        environment.unmapPages()
        let value = try environment.read { transaction throws(LMDBError) in
            try transaction.get(table, key) { Array($0) }
        }
        #expect(value == [2])
        environment.close()
        environment.unmapPages()
    }
}
