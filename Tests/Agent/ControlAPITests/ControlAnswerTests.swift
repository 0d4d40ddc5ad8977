import Testing

@testable import ControlAPI

@Suite("Control answer")
struct ControlAnswerTests {
    @Test(
        "decodes a chunked body",
        arguments: [
            ("0\r\n\r\n", ""), ("3\r\nabc\r\n0\r\n\r\n", "abc"), ("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", "abcde"),
            ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ])
    func chunked(coded: String, body: String) throws {
        let reply = try ControlAnswer(Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(coded)".utf8))
        #expect(reply.body == Array(body.utf8))
    }

    @Test(
        "rejects a chunked body that was cut off or is malformed",
        arguments: [
            "", "3", "3\r\nab", "3\r\nabc\r\n", "zz\r\n", "\r\n", "-3\r\nabc", "ffffffffffffffff\r\nabc",
            "7fffffffffffffff\r\nabc",
        ])
    func cut(coded: String) {
        #expect(throws: ControlError.cutOff) {
            try ControlAnswer(Array("HTTP/1.1 200 OK\r\ntransfer-encoding:chunked\r\n\r\n\(coded)".utf8))
        }
    }

    @Test(
        "reads a body without chunks to its length, or to the end of the connection",
        arguments: [
            ("", "ab", "ab"), ("content-length: 2\r\n", "ab", "ab"), ("Content-Length:0\r\n", "", ""),
            ("content-length: 3\r\n", "ab", nil), ("content-length: x\r\n", "ab", nil),
        ])
    func length(field: String, rest: String, body: String?) {
        let reply = try? ControlAnswer(Array("HTTP/1.1 404 Not Found\r\n\(field)\r\n\(rest)".utf8))
        #expect(reply?.body == body.map { Array($0.utf8) })
        #expect(reply?.status == body.map { _ in 404 })
    }

    @Test(
        "rejects bytes that are not HTTP",
        arguments: ["", "HTTP/1.1 200 OK\r\n", "hello 200 you\r\n\r\n", "HTTP/1.1 x\r\n\r\n"])
    func noReply(bytes: String) {
        #expect(throws: ControlError.failed(reason: "not an HTTP reply")) { try ControlAnswer(Array(bytes.utf8)) }
    }
}
