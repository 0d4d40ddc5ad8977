import Testing

@testable import Doctor

struct MachineFactsTests {
    // MARK: Watches

    private let watches = WatchFacts(
        directories: 10, isCountComplete: true, watchesElsewhere: 0, instancesElsewhere: 0, mostWatches: 100,
        mostInstances: 128, mostQueuedEvents: 16_384)

    private func watches(_ change: (inout WatchFacts) -> Void) -> [Finding] {
        var facts = watches
        change(&facts)
        return facts.findings
    }

    @Test func `room for all watches is fine`() {
        #expect(watches.findings.map(\.level) == [.ok])
        #expect(watches { $0.watchesElsewhere = 90 }.map(\.level) == [.ok])
    }

    @Test func `more directories than watches is a warning that says what to raise, and to what`() {
        let findings = watches { $0.directories = 101 }
        #expect(findings.map(\.level) == [.warning])
        #expect(findings[0].remedy?.contains("fs.inotify.max_user_watches=524288") == true)
        #expect(watches { $0.directories = 400_000 }[0].remedy?.contains("=800000") == true)
    }

    @Test func `watches of other programs count`() {
        #expect(watches { $0.watchesElsewhere = 91 }.map(\.level) == [.warning])
    }

    @Test func `a count that was broken off is a lower bound`() {
        #expect(watches { $0.isCountComplete = false }[0].message.contains("at least 10"))
    }

    @Test func `no instance left is a warning`() {
        let findings = watches { $0.instancesElsewhere = 128 }
        #expect(findings.map(\.level) == [.warning])
        #expect(findings[0].remedy?.contains("max_user_instances") == true)
    }

    @Test func `a short queue is a note`() {
        #expect(watches { $0.mostQueuedEvents = 16 }.map(\.level) == [.note])
    }

    @Test func `limits that can't be read are no trouble`() {
        let findings = watches {
            $0.mostWatches = nil
            $0.mostInstances = nil
            $0.mostQueuedEvents = nil
        }
        #expect(findings.map(\.level) == [.ok])
    }

    // MARK: Kernel

    @Test func `a kernel with openat2 and proc is fine`() {
        #expect(KernelFacts(release: "6.1.0", hasProc: true, openat2: nil).findings.map(\.level) == [.ok])
    }

    @Test func `an old kernel and a filter are told apart`() {
        let old = KernelFacts(release: "5.4.0", hasProc: true, openat2: .unknown).findings
        let filtered = KernelFacts(release: "6.1.0", hasProc: true, openat2: .forbidden("not permitted")).findings
        #expect((old + filtered).map(\.level) == [.stop, .stop])
        #expect(old[0].remedy?.contains("upgrade") == true)
        #expect(filtered[0].remedy?.contains("filter") == true)
    }

    @Test func `without proc nothing works`() {
        #expect(KernelFacts(release: nil, hasProc: false, openat2: nil).findings.map(\.level) == [.stop])
    }

    @Test func `leases that can't be had are a note`() {
        #expect(LeaseFacts.work.findings.map(\.level) == [.ok])
        #expect(LeaseFacts.refused("Invalid argument").findings.map(\.level) == [.note])
        #expect(LeaseFacts.untried.findings.map(\.level) == [.note])
    }

    @Test(
        arguments: [(nil, .ok), (1024, .ok), (104, .ok), (103, .warning), (64, .warning), (63, .stop)]
            as [(Int?, Finding.Level)])
    func `open files must do for all fragments under way`(limit: Int?, level: Finding.Level) {
        let facts = OpenFilesFacts(limit: limit, mostFragments: 20)
        #expect(facts.findings.map(\.level) == [level])
    }

    @Test func `the limit of open files is read from the kernel's table`() {
        let table = """
            Limit                     Soft Limit           Hard Limit           Units
            Max core file size        0                    unlimited            bytes
            Max open files            1024                 524288               files
            """
        #expect(OpenFilesFacts.limit(in: table) == 1024)
        #expect(OpenFilesFacts.limit(in: table.replacing("1024 ", with: "unlimited ")) == nil)
    }

    // MARK: Clock

    private func clock(
        now: Int64 = 1_800_000_000, synchronised: Bool? = true, ahead: Int64? = 0, encrypted: Bool = true
    ) -> Finding {
        ClockFacts(now: now, isSynchronised: synchronised, aheadOfServer: ahead, isEncrypted: encrypted).findings[0]
    }

    @Test(
        arguments: [(0, .ok), (300, .ok), (-300, .ok), (301, .warning), (-86_400, .warning)] as [(Int64, Finding.Level)]
    )
    func `five minutes between the clocks are let pass`(ahead: Int64, level: Finding.Level) {
        #expect(clock(ahead: ahead).level == level)
    }

    @Test func `which clock is ahead is said`() {
        #expect(clock(ahead: 86_400).message.contains("1 d ahead of"))
        #expect(clock(ahead: -86_400).message.contains("1 d behind"))
    }

    @Test func `certificates are spoken of where there are any`() {
        #expect(clock(ahead: 86_400).message.contains("certificates"))
        #expect(!clock(ahead: 86_400, encrypted: false).message.contains("certificates"))
    }

    @Test func `a clock that was never set is a warning`() {
        #expect(clock(now: 1_000_000_000, ahead: nil).level == .warning)
    }

    @Test func `a clock that nothing keeps right is a note`() {
        #expect(clock(synchronised: false, ahead: 3).level == .note)
        #expect(clock(synchronised: nil, ahead: nil).level == .ok)
    }
}
