import Foundation
import NIOCore
import Testing

@testable import OutboxReceiver

/// Which addresses requests may name, and which addresses links contain.
@Suite struct AddressTests {
    private static func status(_ headers: [String: String], _ server: TestServer, method: String = "GET") throws -> Int
    {
        try server.get(method == "GET" ? "/health" : "/fileSection/preLoad.do", headers, method: method).status
    }

    @Test(arguments: [("GET", 200), ("POST", 400)])
    func webPagesOfOthersAreRefusedWhereThereAreNoTokens(method: String, success: Int) async throws {
        try await TestServer.run { server in
            let own = "127.0.0.1:\(server.port)"
            let requests: [(headers: [String: String], status: Int)] = [
                (["Host": own, "Origin": "http://\(own)"], success),
                (["Host": own, "Origin": "https://evil.example"], 403), (["Host": own, "Origin": "null"], 403),
                (["Host": "evil.example"], 403), (["Host": "evil.example", "Origin": "http://evil.example"], 403),
            ]
            for (headers, expected) in requests {
                let status = try Self.status(headers, server, method: method)
                #expect(status == expected, "\(headers)")
            }
        }
    }

    @Test func tokensMakeHostAndOriginMeaningless() async throws {
        try await TestServer.run(configure: { $0.tokens = "secret anna" }) { server in
            let status = try Self.status(["Host": "photos.example", "Origin": "http://other.example"], server)
            #expect(status == 200)
        }
    }

    @Test(
        arguments: [
            (nil, nil, true), ("127.0.0.1:8787", nil, true), ("localhost:8787", nil, true), ("LOCALHOST", nil, true),
            ("localhost:9000", nil, true), ("127.1.2.3:8787", nil, true), ("[::1]:8787", nil, true),
            ("photos.example.org", nil, true), ("photos.example.org:8443", nil, true),
            ("evil.example:8787", nil, false), ("localhost.evil.example", nil, false),
            ("127.0.0.1.evil.example", nil, false),
            ("127.0.0.1@evil.example", nil, false), ("", nil, false), ("[::2]:8787", nil, false),
            ("0.0.0.0:8787", nil, false),
            ("127.0.0.1:8787", "http://127.0.0.1:8787", true), ("localhost:8443", "https://localhost:8443", true),
            ("127.0.0.1:8787", "https://photos.example.org", true), ("127.0.0.1:8787", "http://localhost:8787", false),
            ("127.0.0.1:8787", "http://127.0.0.1:3000", false), ("127.0.0.1:8787", "null", false),
            ("127.0.0.1:8787", "file://", false), (nil, "http://evil.example", false),
        ] as [(String?, String?, Bool)])
    func namesOfThisMachineAreKnown(host: String?, origin: String?, isKnown: Bool) {
        let addresses = Addresses(
            listen: ListenAddress(host: "127.0.0.1", port: 8787), publicURL: "https://photos.example.org/box")
        let isAnswered = (try? addresses.check(host: host, origin: origin)) != nil
        #expect(isAnswered == isKnown)
    }

    // MARK: Links

    @Test(
        arguments: [
            ("0.0.0.0", nil, "nas.local:8787", "http://nas.local:8787"),
            ("::", nil, "[2001:db8::1]:8787", "http://[2001:db8::1]:8787"),
            ("0.0.0.0", nil, "nas.local/\"><script>", "http://192.0.2.1:8787"),
            ("0.0.0.0", nil, nil, "http://192.0.2.1:8787"),
            ("0.0.0.0", "https://photos.example.org/box/", "nas.local", "https://photos.example.org/box"),
            ("192.0.2.1", nil, "nas.local:8787", "http://192.0.2.1:8787"),
        ] as [(String, String?, String?, String)])
    func linksBeginWithAnAddressThatCanBeReached(
        listen: String, publicURL: String?, host: String?, prefix: String
    ) throws {
        let addresses = Addresses(listen: ListenAddress(host: listen, port: 8787), publicURL: publicURL)
        let reached = try SocketAddress(ipAddress: "192.0.2.1", port: 8787)
        #expect(addresses.links(host: host, reached: reached).prefix == prefix)
    }

    @Test func linksOfAReceiverOnAllAddressesHaveTheHostOfTheRequest() async throws {
        try await TestServer.run(configure: {
            $0.listen = ListenAddress(host: "0.0.0.0", port: 0)
            $0.tokens = "secret anna"
        }) { server in
            let id = try server.upload(TestServer.content(10), token: "secret").id
            let urls = try server.isFinish([id], token: "secret").data["urls"] as? [String: String]
            #expect(urls?[id]?.hasPrefix("http://127.0.0.1:\(server.port)/f/") == true)
        }
    }

    // MARK: The page under the server's own address

    @Test func aBrowserIsToldWhatThisServerIs() async throws {
        try await TestServer.run(configure: { $0.tokens = "secret anna" }) { server in
            let reply = try server.get("/")
            #expect(reply.status == 200)
            #expect(reply.headers["content-type"] == "text/html; charset=utf-8")
            #expect(
                String(decoding: reply.body, as: UTF8.self).contains("takes pictures and videos from outbox agents"))
            #expect(try server.get("/", method: "HEAD").status == 200)
            #expect(try server.get("/", method: "POST").status == 405)
        }
    }
}
