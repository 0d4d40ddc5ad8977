import Foundation
import Testing
import Transport
import UploadCore

@testable import Remotes

@Suite("The statuses of tus")
struct TusStatusTests: TusSteps {
    @Test(
        "each status concerns the upload alone, the URL, or the server",
        arguments: [
            (400, TusFailureKind.permanent, TusFailureKind.permanent), (401, .signedOut, .signedOut),
            (403, .signedOut, .outOfStep),
            (404, .lasting, .forgotten), (405, .lasting, .permanent), (409, .permanent, .outOfStep),
            (410, .lasting, .forgotten), (412, .permanent, .outOfStep), (415, .permanent, .permanent),
            (423, .busyUpload, .busyUpload), (429, .temporary, .temporary), (460, .permanent, .outOfStep),
            (500, .temporary, .temporary), (503, .temporary, .temporary), (507, .lasting, .lasting),
            (301, .temporary, .temporary), (511, .temporary, .temporary),
        ])
    func statuses(status: Int, creating: TusFailureKind, sending: TusFailureKind) async throws {
        let server = FakeTusServer()
        let content = try content()
        let handle = try await register(content, server)
        let fields = ["Tus-Resumable": "1.0.0", "Location": "http://x/"]
        server.plan("POST", status, fields)
        let description = content.description
        let created = await server.remote.register([description])[0]
        #expect(kind(await failure { () throws(RemoteFailure) in _ = try created.get() }) == creating)
        server.plan("PATCH", status, fields)
        let fragment = try content.fragment(0, id: handle)
        #expect(
            kind(await failure({ () throws(RemoteFailure) in _ = try await server.remote.send(fragment) })) == sending)
        server.plan("HEAD", status, fields)
        let upload = content.upload(handle)
        // A HEAD may say 403 instead of 404.
        #expect(
            kind(await failure({ () throws(RemoteFailure) in _ = try await server.remote.resume(upload) }))
                == (status == 403 ? .forgotten : sending))
    }

    @Test("a 403 without the header field of tus concerns the upload alone, which starts over after several")
    func forbidden() async throws {
        let server = FakeTusServer()
        let content = try content()
        let handle = try await register(content, server)
        let upload = content.upload(handle)
        func resume() async -> TusFailureKind {
            kind(await failure({ () throws(RemoteFailure) in _ = try await server.remote.resume(upload) }))
        }
        for _ in 0..<2 {
            for _ in 0..<3 { server.plan("HEAD", 403) }
            #expect(await [resume(), resume(), resume()] == [.busyUpload, .busyUpload, .forgotten])
        }
        // Another answer ends the row.
        server.plan("HEAD", 403)
        #expect(await resume() == .busyUpload)
        server.plan("PATCH", 403)
        let fragment = try content.fragment(0, id: handle)
        #expect(
            kind(await failure({ () throws(RemoteFailure) in _ = try await server.remote.send(fragment) }))
                == .busyUpload)
        _ = try await server.remote.resume(upload)
        for _ in 0..<2 { server.plan("HEAD", 403) }
        #expect(await [resume(), resume()] == [.busyUpload, .busyUpload])
    }

    @Test("a 403 without the header field of tus means bad credentials at the creation, and a proxy with a page")
    func forbiddenToAll() async throws {
        let server = FakeTusServer()
        let content = try content()
        let handle = try await register(content, server)
        let upload = content.upload(handle)
        server.plan("POST", 403)
        let created = await server.remote.register([content.description])[0]
        #expect(kind(await failure { () throws(RemoteFailure) in _ = try created.get() }) == .signedOut)
        server.plan("HEAD", 403, ["Content-Type": "text/html"])
        #expect(
            kind(await failure({ () throws(RemoteFailure) in _ = try await server.remote.resume(upload) }))
                == .lasting)
    }

    @Test(
        "a 404 or 410 with another server's page does not mean that the upload is gone",
        arguments: [
            (404, ["Content-Type": "text/html"], TusFailureKind.lasting),
            (410, ["Content-Type": "text/html"], .lasting),
            (404, ["Content-Type": "text/html", "Tus-Resumable": "1.0.0"], .forgotten),
            (404, ["Content-Type": "application/json"], .forgotten), (404, [:], .forgotten),
        ] as [(Int, [String: String], TusFailureKind)])
    func foreignNotFound(status: Int, fields: [String: String], expected: TusFailureKind) async throws {
        let server = FakeTusServer()
        let content = try content()
        let handle = try await register(content, server)
        server.plan("HEAD", status, fields)
        let upload = content.upload(handle)
        #expect(
            kind(await failure({ () throws(RemoteFailure) in _ = try await server.remote.resume(upload) })) == expected)
        server.plan("DELETE", status, fields)
        try await server.remote.remove([handle])
    }

    @Test(
        "a 404 of an unknown sender counts only if the creation URL is not missing as well",
        arguments: [
            (404, TusFailureKind.lasting), (503, .lasting), (405, .forgotten), (200, .forgotten), (400, .forgotten),
        ])
    func unknownSender(status: Int, expected: TusFailureKind) async throws {
        let server = FakeTusServer()
        let content = try content()
        let handle = try await register(content, server)
        let (upload, fragment) = (content.upload(handle), try content.fragment(0, id: handle))
        server.plan("HEAD", 404)
        server.plan("OPTIONS", status)
        #expect(
            kind(await failure({ () throws(RemoteFailure) in _ = try await server.remote.resume(upload) })) == expected)
        server.plan("PATCH", 404)
        server.plan("OPTIONS", status)
        #expect(
            kind(await failure({ () throws(RemoteFailure) in _ = try await server.remote.send(fragment) })) == expected)
        server.plan("HEAD", 404)
        server.plan("OPTIONS", .failure(.connect("refused")))
        #expect(
            kind(await failure({ () throws(RemoteFailure) in _ = try await server.remote.resume(upload) }))
                == .temporary)
    }

    @Test("a refusal with another server's page concerns no file")
    func foreignPage() async throws {
        let server = FakeTusServer()
        server.plan("POST", 400, body: "<html><title>400 The plain HTTP request was sent to HTTPS port</title></html>")
        guard
            case .failure(.temporary(let error, _, .lasting)) = await server.remote.register([try content().description]
            )[0]
        else { throw RemoteConformance.Unexpected("no failure") }
        #expect(error.code == "bad_reply" && error.message.contains("plain HTTP request"))
    }

    @Test("no message shows the token")
    func token() async throws {
        let server = FakeTusServer(token: "very-secret")
        server.plan("POST", 500, body: "Authorization: Bearer very-secret")
        guard case .failure(.temporary(let error, _, _)) = await server.remote.register([try content().description])[0]
        else {
            throw RemoteConformance.Unexpected("no failure")
        }
        #expect(!error.message.contains("very-secret") && error.message.contains("***"))
    }
}
