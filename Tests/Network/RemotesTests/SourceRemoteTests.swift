import Foundation
import HTTPTypes
import Remotes
import Testing
import Transport
import UploadCore

@Suite("commit.do")
struct SourceRemoteTests {
    private var commit: SourceCommit {
        SourceCommit(
            sourceID: "00112233445566778899aabbccddeeff", revision: 2, title: "Ein Tag am \"Meer\" / ☀️", cover: "44",
            fileIDs: ["43", "44"], createdAt: WallTime(milliseconds: 1_795_253_400_999))
    }

    private func remote(_ transport: ScriptedTransport) -> any SourceRemote {
        FileSectionRemote(
            url: "https://host/base", account: "me", transport: transport,
            authorizer: BearerAuthorizer(FixedToken(token: "secret"), url: "https://host"))
    }

    private func send(_ script: @escaping ScriptedTransport.Script) async -> Result<CommitOutcome, RemoteFailure> {
        await Result.catching { () throws(RemoteFailure) in try await remote(ScriptedTransport(script)).commit(commit) }
    }

    @Test("is sent in its exact bytes, and returns the URL unchanged")
    func shape() async throws {
        let transport = ScriptedTransport(data: #"{"url":"https://host/s/7"}"#)
        #expect(try await remote(transport).commit(commit) == .done(url: "https://host/s/7"))
        let request = try #require(transport.requests.first)
        #expect(request.method == "POST" && request.url == "https://host/base/source/commit.do")
        #expect(request.headers == ["Content-Type": "application/json", "Authorization": "Bearer secret"])
        let expected =
            #"{"cover":"44","createDate":"2026-11-21 09:30:00","fileIds":["43","44"],"#
            + #""listDigest":"ac0af0a6ed0f308966f6dec83c71d2d5","revision":2,"#
            + #""sourceId":"00112233445566778899aabbccddeeff","title":"Ein Tag am \"Meer\" / ☀️"}"#
        #expect(String(decoding: request.body, as: UTF8.self) == expected)
    }

    @Test("is the same request each time")
    func same() async throws {
        let transport = ScriptedTransport(data: "{}")
        for _ in 0..<20 { _ = try await remote(transport).commit(commit) }
        #expect(Set(transport.requests.map(\.body)).count == 1)
    }

    @Test("names no cover if the post has none")
    func noCover() async throws {
        let transport = ScriptedTransport(data: "{}")
        var plain = commit
        plain.cover = nil
        _ = try await remote(transport).commit(plain)
        #expect(
            transport.requests.first?.json.keys.sorted()
                == ["createDate", "fileIds", "listDigest", "revision", "sourceId", "title"])
    }

    @Test(
        "succeeds without a URL if the reply has no valid URL",
        arguments: [
            "{}", #"{"code":200}"#, #"{"data":null}"#, #"{"data":{}}"#, #"{"data":{"url":null}}"#, #"{"data":[]}"#,
            #"{"data":{"url":7}}"#, #"{"data":{"url":""}}"#, #"{"data":{"url":"s/7"}}"#,
            #"{"data":{"url":"javascript:alert(1)"}}"#, #"{"data":{"url":"http://h/a b"}}"#,
            #"{"data":{"url":"http://"}}"#,
            #"{"data":{"url":"http://h/\#(String(repeating: "a", count: 2040))"}}"#,
        ])
    func noAddress(_ body: String) async {
        #expect(
            await send { _ in .success(HTTPReply(status: 200, body: Array(body.utf8))) } == .success(.done(url: nil)))
    }

    @Test("accepts a URL of 2048 bytes")
    func longAddress() async {
        let url = "http://h/" + String(repeating: "a", count: 2039)
        #expect(await send { _ in .success(.json(data: #"{"url":"\#(url)"}"#)) } == .success(.done(url: url)))
    }

    @Test("that is lost on its way fails temporarily")
    func lost() async {
        for failure in [TransportError.reset("gone"), .connect("refused"), .replyTimeout("slow")] {
            guard case .failure(.temporary(_, _, .away)) = await send({ _ in .failure(failure) }) else {
                Issue.record("not temporary: \(failure)")
                continue
            }
        }
    }

    @Test("reports that the server forgot a file", arguments: [404, 410])
    func forgotten(_ status: Int) async {
        #expect(await send { _ in .success(HTTPReply(status: status)) } == .failure(.forgotten))
    }

    @Test("that is refused reports the server's message", arguments: [400, 409, 501])
    func refused(_ status: Int) async {
        let body = Array(#"{"code":\#(status),"message":"no such luck"}"#.utf8)
        let expected = FileError(
            code: "refused", message: "commit.do: the server answered \(status): no such luck", retryable: false)
        #expect(
            await send { _ in .success(HTTPReply(status: status, body: body)) } == .failure(.permanent(expected)))
    }

    @Test(
        "reports that the server has other files under the revision, and its latest one",
        arguments: [
            (409, #"{"code":409,"data":{"revision":7}}"#, 7), (200, #"{"code":409,"data":{"revision":2}}"#, 2),
            (409, #"{"data":{"revision":1}}"#, 2), (200, #"{"data":{"url":"http://h/s","listDigest":"00"}}"#, 2),
        ])
    func taken(_ status: Int, _ body: String, _ latest: Int) async {
        let reply = HTTPReply(status: status, body: Array(body.utf8))
        #expect(await send { _ in .success(reply) } == .success(.taken(latest: latest)))
    }

    @Test("does not follow a server to a senseless revision", arguments: ["-1", "0", "9223372036854775807", "\"x\""])
    func senseless(_ revision: String) async {
        let reply = HTTPReply(status: 409, body: Array(#"{"code":409,"data":{"revision":\#(revision)}}"#.utf8))
        guard case .failure(.permanent) = await send({ _ in .success(reply) }) else {
            Issue.record("not refused")
            return
        }
    }

    @Test("reports the page of a captive portal, and does not succeed")
    func portal() async {
        let page = HTTPReply(
            status: 200, headers: [.contentType: "text/html"], body: Array("<html>Log in</html>".utf8))
        guard case .failure(.temporary(let error, _, _)) = await send({ _ in .success(page) }) else {
            Issue.record("not temporary")
            return
        }
        #expect(error.message.contains("commit.do"))
    }
}
