import Foundation
import NIOCore
import Testing

@testable import OutboxReceiver

@Suite struct ServingTests {
    @Test(arguments: [
        ("bytes=10-19", 206, 10..<20), ("bytes=990-", 206, 990..<1000), ("bytes=-5", 206, 995..<1000),
        ("bytes=10-5000", 206, 10..<1000), ("bytes=1000-", 416, 0..<0), ("bytes=1-2,5-6", 200, 0..<1000),
    ])
    func rangesAreServed(range: String, status: Int, bytes: Range<Int>) async throws {
        try await TestServer.run { server in
            let content = TestServer.content(1000)
            let (_, path) = try server.upload(content)
            let reply = try server.get(path, ["Range": range])
            #expect(reply.status == status)
            if status != 416 { #expect(reply.body == content[bytes]) }
            if status == 206 {
                #expect(reply.headers["content-range"] == "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/1000")
            }
        }
    }

    @Test func anUnchangedFileIsNotSentAgain() async throws {
        try await TestServer.run { server in
            let (_, path) = try server.upload(TestServer.content(1000))
            let tag = try #require(try server.get(path, method: "HEAD").headers["etag"])
            let reply = try server.get(path, ["If-None-Match": tag])
            #expect(reply.status == 304)
            #expect(reply.body.isEmpty)
        }
    }

    @Test func headTellsTheLengthWithoutTheBytes() async throws {
        try await TestServer.run { server in
            let (_, path) = try server.upload(TestServer.content(1000))
            let reply = try server.get(path, method: "HEAD")
            #expect(reply.status == 200)
            #expect(reply.headers["content-length"] == "1000")
        }
    }

    @Test(arguments: [
        ("image/jpeg", false), ("video/mp4", false), ("image/svg+xml", true), ("text/html", true), ("no type", true),
    ])
    func onlyPicturesAndVideosAreShownInPlace(type: String, isAttachment: Bool) async throws {
        try await TestServer.run { server in
            let (_, path) = try server.upload(TestServer.content(10), name: "ä\"b", type: type)
            let headers = try server.get(path).headers
            #expect(headers["x-content-type-options"] == "nosniff")
            #expect(headers["content-disposition"]?.hasPrefix("attachment") ?? false == isAttachment)
        }
    }

    @Test func aVideoThatIsOpenedByItselfMayBeLoaded() async throws {
        try await TestServer.run { server in
            let (_, path) = try server.upload(TestServer.content(10), name: "a.mp4", type: "video/mp4")
            let policy = try #require(try server.get(path).headers["content-security-policy"])
            #expect(policy == "default-src 'none'; media-src 'self'")
        }
    }

    // MARK: Listening

    @Test func anAddressThatIsTakenIsSaidPlainly() async throws {
        try await TestServer.run { server in
            let address = ListenAddress(host: "127.0.0.1", port: server.port)
            let failure = StartFailure.cannotCreate(
                "cannot listen on \(address): address already in use; stop the other program or choose another --listen"
            )
            await #expect(throws: failure) {
                try await TestServer.run(configure: { $0.listen = address }) { _ in }
            }
        }
    }

    @Test(arguments: [
        (EACCES, "permission denied; choose a port of 1024 or above for --listen"),
        (EADDRNOTAVAIL, "cannot assign requested address; give --listen an address of this machine"),
        (EMFILE, "too many open files; choose another --listen"),
    ])
    func whyNothingListensIsSaidPlainly(code: Int32, text: String) {
        let failure = StartFailure(
            IOError(errnoCode: code, reason: "bind"), listeningOn: ListenAddress(host: "::1", port: 80))
        #expect(failure == .cannotCreate("cannot listen on [::1]:80: \(text)"))
    }

    @Test func otherErrorsAreNotBlamedOnTheAddress() {
        #expect(StartFailure(CancellationError(), listeningOn: ListenAddress(host: "::1", port: 80)) == nil)
    }
}
