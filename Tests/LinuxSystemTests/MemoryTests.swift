import LinuxSystem
import Testing

@Suite("Memory")
struct MemoryTests {
    @Test("code and data are unchanged after memory was returned")
    func returned() {
        let numbers = Array(0..<100_000)
        Memory.trimHeap()
        Memory.unmapCode()
        #expect(numbers.reduce(0, +) == 4_999_950_000)
        #expect("\(numbers.count)" == "100000")
    }

    @Test("counts the pages of mapped files, which include the program")
    func mapped() throws {
        #expect(try #require(Memory.mappedFileBytes()) > 1 << 20)
    }
}
