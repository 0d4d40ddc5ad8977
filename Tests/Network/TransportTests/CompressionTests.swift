import Foundation
import HTTPTypes
import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(2)))
struct CompressionTests {
    /// `{"code":200}` in gzip, in zlib's format, and as a raw deflate stream.
    private static let compressed = [
        ("gzip", "H4sIAAAAAAACA6tWSs5PSVWyMjIwqAUAVAOW6gwAAAA="), ("deflate", "eJyrVkrOT0lVsjIyMKgFABkRA6Q="),
        ("deflate", "q1ZKzk9JVbIyMjCoBQA="), ("x-gzip", "H4sIAAAAAAACA6tWSs5PSVWyMjIwqAUAVAOW6gwAAAA="),
    ]
    /// 100,000 zeros in gzip.
    private static let zeros =
        "H4sIAAAAAAACA+3BMQEAAADCoPVPbQ0PoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIBXA32VEdSghgEA"

    private func server(_ encoding: String, _ text: String) throws -> ScriptedServer {
        let body = Array(try #require(Data(base64Encoded: text)))
        return try ScriptedServer { _ in
            .response(status: 200, headers: [("Content-Encoding", encoding)], body: body)
        }
    }

    @Test(arguments: compressed)
    func `a reply that is compressed unasked is decoded`(encoding: String, text: String) async throws {
        let server = try server(encoding, text)
        try await withTransport(server) { transport in
            let reply = try await transport.send(.get(server.url))
            #expect(String(decoding: reply.body, as: UTF8.self) == #"{"code":200}"#)
        }
    }

    @Test func `the limit of a reply counts decoded bytes`() async throws {
        let server = try server("gzip", Self.zeros)
        try await withTransport(server) { transport in
            var request = TransportRequest.get(server.url)
            request.maximumReplyLength = 100_000
            let reply = try await transport.send(request)
            #expect(reply.body.count == 100_000)
            request.maximumReplyLength = 99_999
            do throws(TransportError) {
                _ = try await transport.send(request)
                Issue.record("no error")
            } catch {
                guard case .replyTooLong = error else {
                    Issue.record("\(error)")
                    return
                }
            }
        }
    }

    @Test func `a broken compressed reply is a bad reply`() async throws {
        let server = try server("gzip", "AAAAAAAAAAAAAAAAAAAAAAAAAAAA")
        try await withTransport(server) { transport in
            do throws(TransportError) {
                _ = try await transport.send(.get(server.url))
                Issue.record("no error")
            } catch {
                guard case .badReply = error else {
                    Issue.record("\(error)")
                    return
                }
            }
        }
    }
}
