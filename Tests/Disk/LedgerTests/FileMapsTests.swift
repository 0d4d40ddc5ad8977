import Glibc
import Testing

@testable import Ledger

struct FileMapsTests {
    @Test(arguments: [
        ("7f0000001000-7f0000003000 r--s 00000000 fd:00 42                       /state/a b", true),
        ("7f0000001000-7f0000003000 r--s 00000000 fd:00 42", true),
        ("7f0000001000-7f0000003000 rw-s 00000000 fd:00 42 /state/ledger.lmdb", false),
        ("7f0000001000-7f0000003000 r--p 00000000 fd:00 42 /state/ledger.lmdb", false),
        ("7f0000003000-7f0000001000 r--s 00000000 fd:00 42 /state/ledger.lmdb", false),
        ("x r--s 00000000 fd:00 42 /state/ledger.lmdb", false),
        ("", false),
    ])
    func onlySharedReadOnlyMapsOfFilesAreFound(line: String, isFound: Bool) {
        #expect(FileMaps.readOnly(in: line) == (isFound ? 0x7f00_0000_1000..<0x7f00_0000_3000 : nil))
    }

    @Test func anAddressOutsideOfSuchMapsIsInNone() throws {
        let memory = try #require(malloc(1))
        defer { free(memory) }
        #expect(FileMaps.readOnly(holding: memory) == nil)
    }
}
