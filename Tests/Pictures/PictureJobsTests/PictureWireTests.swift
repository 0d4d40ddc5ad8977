import PictureJobs
import Testing

@Suite("The wire of the picture worker")
struct PictureWireTests {
    @Test(
        "transmits each job unchanged",
        arguments: [
            PictureJob.Operation.measure, .thumbnail(side: 150, quality: 85), .encode(quality: 1), .draw(steps: []),
            .draw(steps: ["rect:10x20", "original"]), .draw(steps: [""]), .compress(quality: 85, maximumSide: 0),
        ])
    func jobs(operation: PictureJob.Operation) throws {
        let job = PictureJob(id: .max, operation: operation, maximumPixels: .max)
        #expect(try PictureWire.value(PictureJob.self, in: try PictureWire.packet(of: job)) == job)
    }

    @Test(
        "transmits each answer unchanged",
        arguments: [
            PictureAnswer.Outcome.done(PictureFacts(width: 1, height: 65535)), .failed("\u{0}\"\\ é"),
            .refused(PictureRefusal(.tooManyPixels, "too large")), .failed(""), .failed("a\r\nb\n"),
            .refused(PictureRefusal(.damaged, "\n\na")),
        ])
    func answers(outcome: PictureAnswer.Outcome) throws {
        let answer = PictureAnswer(id: 0, outcome: outcome)
        #expect(try PictureWire.value(PictureAnswer.self, in: try PictureWire.packet(of: answer)) == answer)
    }

    @Test("transmits the hello unchanged, with sandbox layers by name")
    func hello() throws {
        let hello = PictureHello(library: "libvips 8.14.1", formats: ["jpeg"], sandbox: [.noNewPrivileges, .landlock])
        let packet = try PictureWire.packet(of: hello)
        #expect(try PictureWire.value(PictureHello.self, in: packet) == hello)
        #expect(String(decoding: packet, as: UTF8.self).hasSuffix("\nno_new_privs landlock"))
    }

    @Test("refuses packets that are too long or have other content")
    func refused() {
        let long = PictureAnswer(id: 1, outcome: .failed(String(repeating: "x", count: PictureWire.longestPacket)))
        #expect(throws: PictureWireError.tooLong) { try PictureWire.packet(of: long) }
        let bytes = [UInt8](repeating: 0x20, count: PictureWire.longestPacket + 1)
        #expect(throws: PictureWireError.tooLong) { try PictureWire.value(PictureJob.self, in: bytes) }
    }

    @Test(
        "refuses jobs with other fields",
        arguments: [
            "", "{}", "1", "1\n2", "1\n2\n", "1\n2\nformat", "1\n2\nmeasure\n3", "-1\n2\nmeasure", "1\nx\nmeasure",
            "1\n2\nthumbnail\n150", "1\n2\nthumbnail\n150\nx", "1\n2\nencode", "1\n2\ncompress\n85",
            "1\n2\ncompress\n85\nx", "1\n2\nencode\n", "1\n2\nmeasure\n",
        ])
    func badJobs(text: String) {
        #expect(throws: PictureWireError.unreadable) { try PictureWire.value(PictureJob.self, in: Array(text.utf8)) }
    }

    @Test(
        "refuses answers with other fields",
        arguments: [
            "", "1", "1\ndone", "1\ndone\n2", "1\ndone\n2\n3\n4", "1\ndone\n2\nx", "x\nfailed\ny",
            "1\nrefused\ndamaged",
            "1\nrefused\nodd\nwhy", "1\nfailed", "1\nlost\nwhy",
        ])
    func badAnswers(text: String) {
        #expect(throws: PictureWireError.unreadable) { try PictureWire.value(PictureAnswer.self, in: Array(text.utf8)) }
    }

    @Test("refuses bytes that are not UTF-8")
    func notText() {
        let bytes = Array("1\nfailed\n".utf8) + [0xFF]
        #expect(throws: PictureWireError.unreadable) { try PictureWire.value(PictureAnswer.self, in: bytes) }
    }
}
