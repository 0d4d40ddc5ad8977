import Foundation
import TestSupport
import Testing
import Transport

private let openssl = "/usr/bin/openssl"

@Suite(
    .enabled(if: FileManager.default.isExecutableFile(atPath: openssl), "openssl is not installed"),
    .timeLimit(.minutes(2)))
struct TLSTests {
    @Test func `a certificate of an unknown authority is refused`() async throws {
        let server = try await TLSServer(names: "IP:127.0.0.1")
        #expect(await server.failure(caFile: nil)?.kind == "tls")
    }

    @Test func `a certificate of the authority in the file is taken`() async throws {
        let server = try await TLSServer(names: "IP:127.0.0.1")
        #expect(await server.failure(caFile: server.certificate) == nil)
    }

    @Test func `a certificate for another host is refused`() async throws {
        let server = try await TLSServer(names: "DNS:other.invalid")
        #expect(await server.failure(caFile: server.certificate)?.kind == "tls")
    }

    @Test func `a TLS version before 1.2 is refused`() async throws {
        let server = try await TLSServer(names: "IP:127.0.0.1", options: ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"])
        #expect(await server.failure(caFile: server.certificate)?.kind == "tls")
    }

    @Test func `a server that speaks no TLS is a TLS failure`() async throws {
        let listener = try SilentListener(backlog: 8)
        let transport = try CurlTransport()
        let request = TransportRequest.get("https\(listener.url.dropFirst(4))")
        async let error = failure(of: request, over: transport)
        try await listener.acceptAndSend("HTTP/1.1 400 Bad Request\r\n\r\n")
        #expect(await error?.kind == "tls")
        #expect(await error?.description.hasPrefix("the server speaks no TLS on this port; use http://") == true)
        transport.shutdown()
    }

    @Test func `an authority file that is missing is a TLS failure that names it`() async throws {
        let server = try await TLSServer(names: "IP:127.0.0.1")
        let error = await server.failure(caFile: "/nowhere/ca.pem")
        #expect(error?.kind == "tls")
        #expect(error?.description.contains("/nowhere/ca.pem") == true)
        #expect(error?.description.contains("correct remote.ca_file") == true)
    }
}

/// `openssl s_server` with a self-signed certificate.
private final class TLSServer {
    let certificate: String
    private let directory: TemporaryDirectory
    private let program: Program
    private let port: Int

    init(names: String, options: [String] = []) async throws {
        directory = try TemporaryDirectory(prefix: "outbox-tls")
        certificate = directory.path("cert.pem")
        let key = directory.path("key.pem")
        let made = try await Program.run(
            openssl,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=outbox test", "-addext", "subjectAltName=\(names)", "-keyout", key, "-out", certificate,
            ],
            environment: [:], directory: directory.path)
        try #require(made.code == 0, "\(made.standardError)")
        let program = try Program(
            openssl, ["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-www"] + options,
            environment: [:], directory: directory.path, outputPrefix: directory.path("server"))
        self.program = program
        port = try await Poll.value(
            "the port of openssl s_server", lastState: { program.errorTail() },
            look: {
                program.standardOutput.split(separator: "\n").first { $0.hasPrefix("ACCEPT ") }?
                    .split(separator: ":").last.flatMap { Int($0) }
            })
    }

    deinit { program.kill(SIGKILL) }

    func failure(caFile: String?) async -> TransportError? {
        guard let transport = try? CurlTransport(configuration: .init(caFile: caFile)) else { return .cancelled }
        defer { transport.shutdown() }
        do {
            let reply = try await transport.send(.get("https://127.0.0.1:\(port)/"))
            return reply.status == 200 ? nil : .badReply("status \(reply.status)")
        } catch {
            return error
        }
    }
}
