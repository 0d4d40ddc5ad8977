import Glibc
import LinuxSystem
import Reports
import ServiceLifecycle
import TestSupport
import Testing

@testable import ControlAPI

@Suite("The control socket")
struct ControlSocketTests {
    @Test("A second agent does not replace the socket of a listening agent")
    func taken() async throws {
        let bench = try ControlBench()
        try await bench.serving {
            let refusal = await #expect(throws: AgentFailure.self) { try await bench.serviceGroup().run() }
            #expect(refusal?.description.contains("another agent listens there") == true)
            // The first agent still answers.
            _ = try await bench.client.health()
        }
    }

    @Test("A socket without a listener is replaced")
    func dead() async throws {
        let bench = try ControlBench()
        let descriptor = try #require(Self.opened(bench.socket, bind))
        close(descriptor)
        #expect(try await bench.serving { try await bench.client.health() }.pid == 42)
    }

    @Test("Idle connections don't keep commands out, and the agent says that it closes some")
    func seats() async throws {
        let bench = try ControlBench()
        try await bench.serving {
            let seats = ControlServer.mostSocketConnections(descriptors: nil)
            let idle = (0..<seats + 6).compactMap { _ in Self.opened(bench.socket, connect) }
            defer { for descriptor in idle { close(descriptor) } }
            #expect(idle.count == seats + 6)
            #expect(try await bench.client.health().pid == 42)
            try await Poll.until("a message") { bench.troubles.withLock { $0.last != nil } }
            try await Poll.until("the oldest to be closed") { idle.prefix(6).allSatisfy(Self.isClosed) }
            for descriptor in idle { shutdown(descriptor, Int32(SHUT_RDWR)) }
            try await Poll.until("the end of the message") { bench.troubles.withLock { $0.last == .some(nil) } }
        }
    }

    @Test("The seats leave most descriptors to uploads")
    func seatNumbers() {
        let numbers = [nil, 1024, 300, 64, 16].map(ControlServer.mostSocketConnections)
        #expect(numbers == [64, 64, 59, 4, 4])
    }

    private static func isClosed(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK)) == 0
    }

    @Test("A file in the socket's place is left alone")
    func file() async throws {
        let bench = try ControlBench()
        close(open(bench.socket, O_WRONLY | O_CREAT, 0o600))
        await #expect(throws: AgentFailure.self) { try await bench.serviceGroup().run() }
        #expect(try FileStatus(path: bench.socket).kind == .regular)
    }

    @Test("The socket is private to its owner, and is removed with the agent")
    func mode() async throws {
        let bench = try ControlBench()
        try await bench.serving {
            try await Poll.until("the socket's mode") { try FileStatus(path: bench.socket).permissions == 0o600 }
        }
        #expect(access(bench.socket, F_OK) != 0)
    }

    @Test("The socket gets its mode before its name")
    func modeFirst() async throws {
        let bench = try ControlBench()
        let events = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        defer { close(events) }
        let mask = UInt32(bitPattern: Int32(IN_CREATE | IN_MOVED_TO))
        try #require(inotify_add_watch(events, bench.directory.path, mask) >= 0)
        try await bench.serving {
            let mode = try FileStatus(path: bench.socket).permissions
            #expect(mode == 0o600)
            let names = try Directory(path: bench.directory.path).entries().map(\.name)
            #expect(names == [Array("control.sock".utf8)], "nothing is left of the draft")
        }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(events, &buffer, buffer.count)
        var found: [String: UInt32] = [:]
        var offset = 0
        // struct inotify_event: watch, mask, cookie, length, then the name and its padding.
        while offset + 16 <= count {
            let (mask, length) = buffer.withUnsafeBytes { bytes in
                (
                    bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self),
                    Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
                )
            }
            let name = buffer[offset + 16..<offset + 16 + length].prefix { $0 != 0 }
            found[String(decoding: name, as: UTF8.self), default: 0] |= mask
            offset += 16 + length
        }
        #expect(found["control.sock"] == UInt32(IN_MOVED_TO), "\(found)")
    }

    @Test("A leftover temporary socket is no obstacle, nor is a path too long for a temporary socket")
    func draft() async throws {
        let bench = try ControlBench()
        try #require(mkdir(bench.directory.path("/.control.sock.d"), 0o700) == 0)
        close(try #require(Self.opened(bench.directory.path("/.control.sock.d/s"), bind)))
        #expect(try await bench.serving { try await bench.client.health() }.pid == 42)
        let long = ControlSocketPath("/" + String(repeating: "x", count: 105))
        #expect(try long.makeDraft() == long.path)
    }

    private static func opened(
        _ path: String, _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32? {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return result == 0 ? descriptor : nil
    }
}
