import Testing

@testable import ControlAPI

@Suite("Control request")
struct ControlRequestTests {
    @Test(
        "takes the chunked coding off",
        arguments: [
            ("0\r\n\r\n", ""), ("3\r\nabc\r\n0\r\n\r\n", "abc"), ("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", "abcde"),
            ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ])
    func chunked(reply: String, body: String) {
        #expect(ControlRequest.unchunked(Array(reply.utf8)[...]) == Array(body.utf8))
    }

    @Test(
        "takes no half of an answer for a whole one",
        arguments: [
            "", "3", "3\r\nab", "3\r\nabc\r\n", "zz\r\n", "\r\n", "-3\r\nabc", "ffffffffffffffff\r\nabc",
            "7fffffffffffffff\r\nabc",
        ])
    func cut(reply: String) {
        #expect(ControlRequest.unchunked(Array(reply.utf8)[...]) == nil)
    }

    @Test("says that nobody answers where there is no socket")
    func nobody() {
        let request = ControlRequest(socket: "/none/control.sock", target: "/v1/health")
        #expect(throws: ControlError.notRunning(socket: "/none/control.sock")) { try request.perform().get() }
    }

    @Test(
        "trusts the user's own agent, root's, and as root that of the state directory's owner",
        arguments: [
            (user: UInt32(1000), owner: nil as UInt32?, peer: UInt32(1000), isTrusted: true), (1000, nil, 0, true),
            (1000, nil, 1001, false), (1000, 1001, 1001, false), (0, nil, 0, true), (0, nil, 1001, false),
            (0, 1001, 1001, true), (0, 1001, 1002, false),
        ] as [(UInt32, UInt32?, UInt32, Bool)])
    func peers(user: UInt32, owner: UInt32?, peer: UInt32, isTrusted: Bool) {
        #expect(ControlPeers(user: user, stateOwner: owner).isTrusted(peer) == isTrusted)
    }

    @Test("refuses a path that no socket can have")
    func tooLong() {
        let request = ControlRequest(socket: "/" + String(repeating: "s", count: 200), target: "/v1/health")
        #expect(throws: ControlError.self) { try request.perform().get() }
    }
}
