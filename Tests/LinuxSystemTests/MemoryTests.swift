import Foundation
import LinuxSystem
import TestSupport
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

    @Test("counts the pages of mapped files, which include the program")
    func mapped() throws {
        #expect(try #require(Memory.mappedFileBytes()) > 1 << 20)
    }

    @Test("code still runs once it is mapped page by page")
    func codeByPage() {
        Memory.mapCodeByPage()
        #expect(String(describing: [1: "one"]) == "[1: \"one\"]")
    }

    @Test("maps a single page of a file for each page that is read", .enabled(if: Memory.canMapByPage))
    func byPage() throws {
        let directory = try TemporaryDirectory()
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        let size = 64 * page
        try Data(repeating: 7, count: size).write(to: URL(filePath: directory.path("file")))
        let descriptor = open(directory.path("file"), O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        let address = mmap(nil, size, PROT_READ, MAP_SHARED, descriptor, 0)
        let start = try #require(address != MAP_FAILED ? address : nil)
        defer { munmap(start, size) }

        let pages = UnsafeMutableRawBufferPointer(start: start, count: size)
        Memory.mapByPage(pages)
        #expect(pages[20 * page] == 7)
        #expect(ProcessMaps.presentKiB(at: UInt(bitPattern: start)) == page / 1024)
    }
}
