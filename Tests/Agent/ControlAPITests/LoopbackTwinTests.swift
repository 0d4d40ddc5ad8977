import Foundation
import Glibc
import TestSupport
import Testing

@testable import ControlAPI

@Suite("The other address of localhost")
struct LoopbackTwinTests {
    private static let four = DashboardAddress("127.0.0.1:0")
    private static let six = DashboardAddress("[::1]:0")

    /// Whether this machine has `::1`.
    private static let hasIPv6 = six.map { LoopbackTwin(of: $0, port: 0).port != 0 } ?? false

    /// Connects to a port with curl; returns its exit status.
    private func connect(_ host: String, _ port: Int) async throws -> Int32? {
        try await Program.run(
            "/usr/bin/curl", ["-sS", "--max-time", "10", "http://\(host):\(port)/open/secret"], environment: [:],
            directory: "/tmp"
        ).code
    }

    @Test("Nobody else can listen there, and a browser is refused at once", .enabled(if: hasIPv6))
    func held() async throws {
        let address = try #require(Self.four)
        let twin = LoopbackTwin(of: address, port: 0)
        #expect(!twin.isForeign && twin.port != 0)
        let other = LoopbackTwin(of: address, port: twin.port)
        #expect(other.isForeign)
        // curl: 7 is a refused connection.
        #expect(try await connect("[::1]", twin.port) == 7)
        withExtendedLifetime(twin) {}
    }

    @Test("The port is free again afterwards", .enabled(if: hasIPv6))
    func released() throws {
        let address = try #require(Self.six)
        let port = LoopbackTwin(of: address, port: 0).port
        let next = LoopbackTwin(of: address, port: port)
        #expect(!next.isForeign)
    }

    @Test("Addresses that localhost never means have no twin")
    func others() throws {
        let address = try #require(DashboardAddress("127.8.7.88:8788"))
        let (one, other) = (LoopbackTwin(of: address, port: 8788), LoopbackTwin(of: address, port: 8788))
        #expect(!one.isForeign && !other.isForeign && one.port == 8788)
    }

    @Test("Only the default gives way to other ports")
    func ports() throws {
        #expect(try #require(DashboardAddress("127.0.0.1:8788")).ports == Array(8788...8798) + [0])
        #expect(try #require(DashboardAddress("127.0.0.1:8790")).ports == [8790])
        #expect(try #require(DashboardAddress("[::1]:8788")).ports == [8788])
    }
}
