import LinuxSystem
import Testing

@testable import Agent

@Suite("Limits at the start")
struct StartLimitsTests {
    private let enough = StartLimits(
        neededThreads: 30, startableThreads: 30, openFiles: 64, processes: 1000, addressSpace: nil,
        neededAddressSpace: 1 << 30,
        hasAddressSpace: true)

    @Test("cause no objection if they suffice")
    func fine() {
        #expect(enough.failure == nil)
        #expect(StartLimits.prepare().failure == nil)
    }

    @Test("of threads are named, with the required number")
    func threads() {
        var limits = enough
        limits.startableThreads = 7
        #expect("\(limits.failure, default: "")".contains("`ulimit -u` is 1000"))
        limits.processes = nil
        #expect("\(limits.failure, default: "")".contains("pids.max"))
    }

    @Test("of descriptors are named, with the required number")
    func descriptors() {
        var limits = enough
        limits.openFiles = 48
        #expect("\(limits.failure, default: "")".contains("`ulimit -n` is 48"))
        limits.openFiles = nil
        #expect(limits.failure == nil)
    }

    @Test("of address space are named, with the required size")
    func addressSpace() {
        var limits = enough
        limits.hasAddressSpace = false
        limits.addressSpace = 2 << 20
        #expect("\(limits.failure, default: "")".contains("`ulimit -v` is 2048 KiB"))
        #expect("\(limits.failure, default: "")".contains("1024 MiB"))
    }

    @Test("trial threads end again")
    func tried() {
        #expect(startableThreads(atMost: 5) == 5)
        #expect(startableThreads(atMost: 0) == 0)
    }
}
