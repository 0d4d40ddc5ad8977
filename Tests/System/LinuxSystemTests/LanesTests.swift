import LinuxSystem
import Synchronization
import SystemPackage
import TestSupport
import Testing

/// A call that returns when the test says so.
private final class Door: Sendable {
    private let monitor = Monitor()
    private let isOpen = Mutex(false)

    func open() {
        monitor.locked {
            isOpen.withLock { $0 = true }
            monitor.broadcast()
        }
    }

    func pass() { monitor.locked { while !isOpen.withLock(\.self) { monitor.wait() } } }
}

@Suite struct LanesTests {
    private let lanes = Lanes(keepTime: .seconds(600))

    @Test func `a call that returns has its result, or its error`() throws {
        #expect(try lanes.call("usb", "looking") { 7 } == 7)
        #expect(throws: Errno.notDirectory) {
            try lanes.call("usb", "looking") { () throws(Errno) in throw .notDirectory }
        }
    }

    @Test
    func `a call that hangs leaves its caller and other places alone, and its late result serves the next caller`()
        async throws
    {
        let door = Door()
        defer { door.open() }
        let look = { @Sendable [lanes] () throws(Errno) -> Int in
            try lanes.call("usb", "looking at a.bin") {
                door.pass()
                return 7
            }
        }
        #expect(throws: Errno.timedOut) { try look() }
        #expect(lanes.isStalled("usb"))
        // Refused at once, since the first one is still under way.
        #expect(throws: Errno.timedOut) { try look() }
        #expect(try lanes.call("disk", "looking at a.bin") { 8 } == 8)
        #expect(try lanes.call("usb", "looking at b.bin") { 9 } == 9)

        let answers = Mutex(0)
        lanes.onAnswer { answers.withLock { $0 += 1 } }
        door.open()
        try await Poll.until("an answer") { answers.withLock { $0 } == 1 }
        #expect(!lanes.isStalled("usb"))
        #expect(try lanes.call("usb", "looking at a.bin") { 0 } == 7)
        #expect(try lanes.call("usb", "looking at a.bin") { 0 } == 0)
    }

    @Test func `the result of a change that returns late is not taken for that of the next change`() async throws {
        let door = Door()
        #expect(throws: Errno.timedOut) {
            try lanes.call("usb", "writing", keepsResult: false) {
                door.pass()
                return "old"
            }
        }
        door.open()
        try await Poll.until("an answer") { !lanes.isStalled("usb") }
        #expect(try lanes.call("usb", "writing", keepsResult: false) { "new" } == "new")
    }

    @Test func `a place that answers nothing gets a bounded number of threads`() {
        let door = Door()
        defer { door.open() }
        let begun = Mutex(0)
        for number in 0..<40 {
            #expect(throws: Errno.timedOut) {
                try lanes.call("usb", "looking at \(number)") {
                    begun.withLock { $0 += 1 }
                    door.pass()
                }
            }
        }
        #expect(begun.withLock { $0 } <= 8)
    }

    @Test func `a call that does not return is named until it does`() async throws {
        let told = Mutex<[[Stalls.Stall]]>([])
        let lanes = Lanes(stalls: Stalls(limit: .milliseconds(600)) { news in told.withLock { $0.append(news) } })
        let door = Door()
        #expect(throws: Errno.timedOut) { try lanes.call("usb", "looking at a.bin") { door.pass() } }
        try await Poll.until("the stall") { told.withLock { $0.last?.isEmpty == false } }
        #expect(told.withLock { $0 } == [[Stalls.Stall(place: "usb", work: "looking at a.bin")]])
        door.open()
        try await Poll.until("the end") { told.withLock { $0.last?.isEmpty == true } }
    }
}
