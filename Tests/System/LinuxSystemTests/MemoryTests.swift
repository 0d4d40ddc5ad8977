import LinuxSystem
import Testing

@Suite("Memory")
struct MemoryTests {
    @Test("data are unchanged after memory was returned")
    func returned() {
        let numbers = Array(0..<100_000)
        Memory.trimHeap()
        #expect(numbers.reduce(0, +) == 4_999_950_000)
        #expect("\(numbers.count)" == "100000")
    }
}
