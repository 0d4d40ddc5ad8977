import Testing
import UploadCore

@testable import Agent

@Suite("Pace of the intake")
struct IntakePaceTests {
    private var pace = IntakePace()
    private var now = MonotonicTime(nanoseconds: 0) + .seconds(1)

    private mutating func load(_ queued: Int, hasBacklog: Bool = false) -> Int {
        pace.load(queued: queued, hasBacklog: hasBacklog, now: now)
    }

    /// Lets an interval pass in which so many uploads of so many bytes end.
    private mutating func pass(ending count: Int, of bytes: UInt64 = 1000) {
        for _ in 0..<count { pace.pathEnded(bytes: bytes) }
        now = now + IntakePace.interval
    }

    @Test("queued uploads are load as long as enough others end")
    mutating func keepsStep() {
        var loads = [load(10)]
        for _ in 0..<3 {
            pass(ending: IntakePace.least)
            loads.append(load(20))
        }
        #expect(loads == [10, 20, 20, 20])
        #expect(pace.deadline == now + IntakePace.interval)
    }

    @Test("slow uploads are no load, until they are fast; one slow interval makes no uploads slow")
    mutating func slow() {
        var loads = [load(10)]
        for count in [0, IntakePace.least, 0, IntakePace.least - 1] {
            #expect(pace.deadline != nil)
            pass(ending: count)
            loads.append(load(10))
        }
        #expect(pace.deadline == nil)
        pass(ending: IntakePace.least)
        loads.append(load(10))
        #expect(loads == [10, 10, 10, 10, 0, 10])
    }

    @Test("few large uploads are as fast as many small ones")
    mutating func bytes() {
        var loads = [load(10)]
        for _ in 0..<IntakePace.patience {
            pass(ending: 4, of: IntakePace.leastBytes / 4)
            loads.append(load(10))
        }
        for _ in 0..<IntakePace.patience {
            pass(ending: 4, of: IntakePace.leastBytes / 5)
            loads.append(load(10))
        }
        #expect(loads == [10, 10, 10, 10, 0])
    }

    @Test("what ended while none was queued does not count")
    mutating func idle() {
        var loads = [load(10), load(0)]
        #expect(pace.deadline == nil)
        for _ in 0..<IntakePace.least { pace.pathEnded(bytes: 1) }
        for _ in 0..<IntakePace.patience {
            loads.append(load(10))
            pass(ending: 0)
        }
        loads.append(load(10))
        #expect(loads == [10, 0, 10, 10, 0])
    }

    @Test("a backlog is no load")
    mutating func backlog() {
        let loads = [load(10), load(10, hasBacklog: true), load(10)]
        #expect(loads == [10, 0, 10])
        let end = now + IntakePace.interval
        #expect(pace.deadline == end)
    }
}
