import HTTPTypes
import Testing
import Transport
import UploadCore

@testable import Remotes

@Suite("S3: credentials, clock and errors")
struct S3FailureTests: S3Steps {
    @Test("temporary credentials send their token")
    func token() async throws {
        let server = FakeS3Server()
        let keys = AccessKeys(id: "ASIA", secret: "s", sessionToken: "token/+==")
        server.change { $0.keys = keys }
        server.credentials.set(AccessKeys(id: "ASIA", secret: "s"))
        #expect(try await failureOfRegistration(server) == "signed_out")
        server.credentials.set(keys)
        try await put(try small(), server)
    }

    @Test("without credentials, nothing is sent")
    func noCredentials() async throws {
        let server = FakeS3Server()
        server.credentials.set(nil)
        #expect(try await failureOfRegistration(server) == "signed_out")
        #expect(server.log.isEmpty)
    }

    @Test("refused credentials sign out, although a HEAD gives no reason")
    func refused() async throws {
        let server = FakeS3Server()
        server.credentials.set(AccessKeys(id: "AKIAOTHER", secret: "x"))
        #expect(try await failureOfRegistration(server) == "signed_out")
        #expect(server.log == ["HeadObject", "GetObject"])
    }

    @Test("a wrong clock is learned, and the next request passes", arguments: [-3600, 86_400] as [Int64])
    func skew(ahead: Int64) async throws {
        let server = FakeS3Server()
        server.change { $0.ahead = ahead }
        #expect(try await failureOfRegistration(server) == "clock_skew")
        try await put(try small(), server)
    }

    @Test("a wrong region is named")
    func region() async throws {
        let server = FakeS3Server { $0.region = "us-west-2" }
        guard
            case .failure(.temporary(let error, _, let outlook)) = await server.s3.register([try small().description])
                .first
        else { throw RemoteConformance.Unexpected("no failure") }
        #expect(error.code == "wrong_region" && outlook == .lasting)
        #expect(
            error.message.hasSuffix("the bucket is not in the region us-west-2: set remote.region to \"eu-central-1\""))
    }

    @Test(
        "errors of an upload are reported by class",
        arguments: [
            (503, "SlowDown", "server_busy"), (404, "NoSuchBucket", "no_such_bucket"),
            (403, "AccessDenied", "access_denied"),
        ])
    func classes(status: Int, error: String, code: String) async throws {
        let server = FakeS3Server()
        let content = try small()
        let handle = try await handle(content, server)
        server.change { $0.errors = [("PutObject", status, error)] }
        let fragment = try content.fragment(0, id: handle)
        await #expect {
            try await server.s3.send(fragment)
        } throws: {
            self.code($0 as? RemoteFailure) == code
        }
    }

    @Test("credentials that may only write upload small contents, and say what large ones lack")
    func writeOnly() async throws {
        let server = FakeS3Server(.hidesObjects)
        try await put(try small(), server)
        let content = try large(server)
        let handle = try await handle(content, server)
        let receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
        let result = await server.s3.finish([content.upload(handle, receipts: receipts)]).first
        guard case .failure(.busyUpload(let error, _)) = result else {
            throw RemoteConformance.Unexpected("\(String(describing: result))")
        }
        #expect(error.code == "access_denied" && error.message.contains("s3:GetObject"))
    }

    @Test("a portal's page is no object and no success")
    func portal() async throws {
        let page = HTTPReply(status: 200, headers: [.contentType: "text/html"], body: Array("<html>Log in</html>".utf8))
        let transport = ScriptedTransport { _ in .success(page) }
        let options = S3Options(endpoint: "http://s3.example.org", bucket: "photos")
        let keys = FixedKeys(AccessKeys(id: "a", secret: "b"))
        let remote = S3Remote(options, account: "", transport: transport, credentials: keys)
        let content = try small()
        #expect(failure(await remote.register([content.description]).first) == "captive_portal")
        let fragment = try content.fragment(0, id: RemoteHandle(id: "", object: "k"))
        await #expect {
            try await remote.send(fragment)
        } throws: {
            code($0 as? RemoteFailure) == "captive_portal"
        }
        let upload = content.upload(RemoteHandle(id: "x", object: "k"), receipts: [0: "aa"])
        #expect(failure(await remote.finish([upload]).first) == "captive_portal")
    }

    @Test("a key of more than 1024 bytes is refused")
    func longKey() async throws {
        let server = FakeS3Server { $0.prefix = String(repeating: "p", count: 1000) }
        #expect(try await failureOfRegistration(server) == "key_too_long")
        #expect(server.log.isEmpty)
    }
}
