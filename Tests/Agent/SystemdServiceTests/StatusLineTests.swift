import Testing
import UploadCore

@testable import SystemdService

@Suite("The status line")
struct StatusLineTests {
    @Test("lists active files before waiting files, with the speed")
    func busy() {
        let line = StatusLine(counts: [.waiting: 1234, .uploading: 3, .queued: 0], bytesPerSecond: 2_100_000)
        #expect(line.text == "3 uploading, 1,234 waiting; 2.1 MB/s")
    }

    @Test("says that there is no work")
    func idle() {
        #expect(StatusLine().text == "nothing to do")
    }

    @Test("begins with the problem")
    func problem() {
        let line = StatusLine(counts: [.signedOut: 2], problems: ["the server refused the token", "more"])
        #expect(line.text == "the server refused the token; 2 signed out")
    }

    @Test("says when everything is paused")
    func paused() {
        #expect(StatusLine(counts: [.paused: 5], isPaused: true).text == "paused; 5 paused")
    }

    @Test("groups digits", arguments: [(7, "7"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")])
    func digits(count: Int, text: String) {
        #expect(StatusLine(counts: [.done: 1, .queued: count]).text == text + " queued")
    }
}
