import HTTPTypes
import Testing
import Transport
import UploadCore

@testable import Remotes

/// Checks the whole table of contract section 4: every status in every reply of the protocol.
@Suite("Every request judges every reply")
struct StatusTableTests {
    enum Request: String, CaseIterable, Sendable {
        case register, send, finish, remove, commit

        /// Whether the request names ids that the server issued.
        var knowsIDs: Bool { self != .register }
    }

    /// How the remote judges this reply to a request.
    private func judgement(of request: Request, _ reply: HTTPReply) async throws -> Judgement {
        let transport = ScriptedTransport { _ in .success(reply) }
        let remote = FileSectionRemote(
            url: "https://host", account: "me", transport: transport,
            authorizer: BearerAuthorizer(FixedToken(token: nil), url: "https://host"))
        let content = try TestContent(1, size: 1000)
        let result: Result<Void, RemoteFailure>
        switch request {
        case .register: result = await remote.register([content.description])[0].map { _ in }
        case .finish: result = await remote.finish([content.upload("43")])[0].map { _ in }
        case .send:
            let fragment = try content.fragment(0, id: "43")
            result = await Result.catching { () throws(RemoteFailure) in _ = try await remote.send(fragment) }
        case .remove:
            result = await Result.catching { () throws(RemoteFailure) in try await remote.remove(["43"]) }
        case .commit:
            let commit = SourceCommit(
                sourceID: "s", revision: 1, title: "t", cover: nil, fileIDs: ["43"],
                createdAt: WallTime(milliseconds: 0))
            result = await Result.catching { () throws(RemoteFailure) in _ = try await remote.commit(commit) }
        }
        #expect(transport.requests.count == 1, "a remote never retries")
        switch result {
        case .success: return .success
        case .failure(let failure): return Judgement(failure)
        }
    }

    private func expected(
        _ request: Request, _ status: Int, isForeign: Bool = false, isPage: Bool = false
    ) -> Judgement {
        // An id that the server doesn't know is already deleted.
        if request == .remove, !isPage, status == 404 || status == 410 { return .success }
        return .expected(status, knownIDs: request.knowsIDs, isForeign: isForeign, isPage: isPage)
    }

    @Test("by the status, and by whether the body is the protocol's", arguments: Request.allCases, [false, true])
    func status(request: Request, isForeign: Bool) async throws {
        for status in 300...599 {
            let reply = HTTPReply(
                status: status, headers: [.location: "http://127.0.0.1:1/"], body: isForeign ? [0x3C, 0xFF, 0] : [])
            let found = try await judgement(of: request, reply)
            let isOther = isForeign || status == 413
            #expect(found == expected(request, status, isForeign: isOther, isPage: isForeign), "\(status)")
        }
    }

    @Test("by the code in the body if the status is a success", arguments: Request.allCases)
    func code(request: Request) async throws {
        for code in 400...599 {
            let body = Array(#"{"code":\#(code),"message":"no","data":{}}"#.utf8)
            let found = try await judgement(of: request, HTTPReply(status: 200, body: body))
            #expect(found == expected(request, code), "\(code)")
        }
    }

    @Test(
        "with a foreign body as temporary", arguments: Request.allCases,
        ["", "<html>", "[]", "{", #"{"code":"200"}"#, #"{"code":302}"#, "\u{0}"])
    func garbage(request: Request, body: String) async throws {
        #expect(try await judgement(of: request, HTTPReply(status: 200, body: Array(body.utf8))) == .temporary)
    }
}

@Suite("The table of HTTP statuses")
struct StatusMeaningTests {
    @Test("gives each status a meaning of its own only where a protocol has exceptions")
    func exceptions() {
        let usual = StatusTable()
        let tus = StatusTable(exceptions: [409: .outOfStep, 423: .busyUpload])
        for status in 0...1000 {
            let meaning = usual[status]
            #expect(meaning != .outOfStep && meaning != .busyUpload)
            #expect(tus[status] == (status == 409 ? .outOfStep : status == 423 ? .busyUpload : meaning))
        }
        #expect(tus[409].failure("m", retryAfter: nil) == .outOfStep(error("out_of_step")))
        #expect(
            tus[423].failure("m", retryAfter: .seconds(3))
                == .busyUpload(error("server_busy"), retryAfter: .seconds(3)))
    }

    private func error(_ code: String) -> FileError { FileError(code: code, message: "m", retryable: true) }
}

extension Result where Failure == RemoteFailure {
    static func catching(_ body: () async throws(RemoteFailure) -> Success) async -> Self {
        do throws(RemoteFailure) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}
