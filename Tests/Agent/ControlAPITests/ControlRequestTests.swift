import Testing

@testable import ControlAPI

@Suite("Control request")
struct ControlRequestTests {
    @Test("reports that no agent answers if there is no socket")
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

    @Test("refuses a path that is impossible for a socket")
    func tooLong() {
        let request = ControlRequest(socket: "/" + String(repeating: "s", count: 200), target: "/v1/health")
        #expect(throws: ControlError.self) { try request.perform().get() }
    }
}
