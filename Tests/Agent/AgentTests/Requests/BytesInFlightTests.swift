import Testing
import UploadCore

@testable import Agent

@Suite("Bytes in flight")
struct BytesInFlightTests {
    private let one = ContentKey(high: 1, low: 0)
    private let two = ContentKey(high: 2, low: 0)

    @Test("are summed up for each content, and removed by the server's answer")
    func sums() {
        var bytes = BytesInFlight()
        bytes.begin(1, one, of: 100)
        bytes.begin(2, one, of: 100)
        bytes.begin(3, two, of: 100)
        #expect(bytes.sum(of: one) == 0)
        #expect(bytes.reach(30, by: 1)?.gain == 30)
        #expect(bytes.reach(40, by: 1)?.gain == 10)
        #expect(bytes.reach(50, by: 2)?.key == one)
        #expect(bytes.reach(60, by: 3)?.key == two)
        #expect(bytes.sum(of: one) == 90)
        #expect(bytes.sum(of: two) == 60)
        #expect(bytes.measured(by: 1) == 40)
        bytes.end(1)
        #expect(bytes.sum(of: one) == 50)
        #expect(bytes.reach(100, by: 1) == nil)
    }

    @Test("never exceed the fragment's size, despite framing")
    func framing() {
        var bytes = BytesInFlight()
        bytes.begin(1, one, of: 100)
        #expect(bytes.reach(250, by: 1)?.gain == 100)
        #expect(bytes.reach(260, by: 1) == nil)
        #expect(bytes.sum(of: one) == 100)
    }

    @Test("are no part of the sum if the upload machine counts them as progress")
    func stream() {
        var bytes = BytesInFlight()
        bytes.begin(1, one, of: 100, isStream: true)
        #expect(bytes.reach(40, by: 1)?.gain == 40)
        #expect(bytes.sum(of: one) == 0 && bytes.length(of: 1) == 100)
    }

    @Test("start over when a fragment is resent, and are not measured twice")
    func again() {
        var bytes = BytesInFlight()
        bytes.begin(1, one, of: 100)
        #expect(bytes.reach(80, by: 1)?.gain == 80)
        #expect(bytes.reach(0, by: 1)?.gain == 0)
        #expect(bytes.sum(of: one) == 0)
        #expect(bytes.reach(90, by: 1)?.gain == 10)
        #expect(bytes.measured(by: 1) == 90)
    }
}
