import Glibc
import LinuxSystem
import ServiceLifecycle
import TestSupport
import Testing

@testable import AgentKit

@Suite("The control socket")
struct ControlSocketTests {
    @Test("A second agent does not take the socket of one that listens")
    func taken() async throws {
        let bench = try ControlBench()
        try await bench.serving {
            let refusal = await #expect(throws: AgentFailure.self) { try await bench.serviceGroup().run() }
            #expect(refusal?.description.contains("another agent listens there") == true)
            // The first one still answers.
            _ = try await bench.client.health()
        }
    }

    @Test("A socket that nobody listens on is replaced")
    func dead() async throws {
        let bench = try ControlBench()
        let descriptor = try #require(Self.bound(bench.socket))
        close(descriptor)
        #expect(try await bench.serving { try await bench.client.health() }.pid == 42)
    }

    @Test("A file in its place is left alone")
    func file() async throws {
        let bench = try ControlBench()
        close(open(bench.socket, O_WRONLY | O_CREAT, 0o600))
        await #expect(throws: AgentFailure.self) { try await bench.serviceGroup().run() }
        #expect(try FileStatus(path: bench.socket).kind == .regular)
    }

    @Test("The socket is its owner's alone, and goes with the agent")
    func mode() async throws {
        let bench = try ControlBench()
        try await bench.serving {
            try await Poll.until("the socket's mode") { try FileStatus(path: bench.socket).permissions == 0o600 }
        }
        #expect(access(bench.socket, F_OK) != 0)
    }

    private static func bound(_ path: String) -> Int32? {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return result == 0 ? descriptor : nil
    }
}
