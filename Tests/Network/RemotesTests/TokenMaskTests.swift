import Foundation
import HTTPTypes
import Testing
import Transport
import UploadCore

@testable import Remotes

@Suite("The agent's token in text from outside")
struct TokenMaskTests {
    private static let token = "s3cret/+tok~en=="

    private static let percentEncoded = "s3cret%2F%2Btok~en%3D%3D"

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    @Test(
        "is hidden in every form a proxy may echo it in",
        arguments: [
            token, percentEncoded,
            percentEncoded.replacing("%2F", with: "%2f").replacing("%2B", with: "%2b")
                .replacing("%3D", with: "%3d"), base64(token), base64("Bearer \(token)"), base64("x\(token)y"),
            base64("ab\(token)cd"), base64("\(token)\(token)").replacing("+", with: "-").replacing("/", with: "_"),
        ])
    func forms(form: String) {
        let hidden = TokenMask(token: Self.token).hide(in: "it said \(form), \(form)")
        #expect(hidden.hasPrefix("it said "))
        #expect(hidden.contains(TokenMask.mark))
        for piece in [
            Self.token, "s3cret", String(Self.base64(Self.token).dropLast(4)),
            String(Self.base64("Bearer s3cret").dropLast(4)),
        ] {
            #expect(!hidden.contains(piece), "\(hidden)")
        }
    }

    @Test("is found beside a combining character and in the middle of a word")
    func neighbours() {
        #expect(TokenMask(token: "sesame").hide(in: "xsesame\u{301}y") == "x***\u{301}y")
    }

    @Test("is found at the start, at the end and alone", arguments: ["sesame", "sesame x", "x sesame", "sessesame"])
    func places(text: String) {
        let hidden = TokenMask(token: "sesame").hide(in: text)
        #expect(hidden == text.replacing("sesame", with: TokenMask.mark))
    }

    @Test("is masked without changing other text", arguments: [nil, "", "abc", "sesame"])
    func others(token: String?) {
        let text = "preLoad.do: abc \u{1F3D6} seSame"
        #expect(TokenMask(token: token).hide(in: text) == text)
    }
}

/// A proxy echoes parts of the request in a message, a page, a redirect, a URL or a digest.
@Suite("A server that echoes the token")
struct EchoedTokenTests {
    private static let token = "for-anna-0123456789"

    private func remote(_ script: @escaping ScriptedTransport.Script) -> FileSectionRemote {
        FileSectionRemote(
            url: "https://host", account: "me", transport: ScriptedTransport(script),
            authorizer: BearerAuthorizer(FixedToken(token: Self.token), url: "https://host"))
    }

    @Test(
        "causes no failure that contains the token",
        arguments: [
            HTTPReply(status: 422, body: Array(#"{"message":"Authorization: Bearer \#(token)"}"#.utf8)),
            HTTPReply(status: 422, body: Array(#"{"message":"\u0066or-anna-0123456789"}"#.utf8)),
            HTTPReply(status: 422, body: Array("\(String(repeating: "x", count: 290)) \(token)".utf8)),
            HTTPReply(
                status: 503, body: Array(#"{"message":"\#(String(repeating: "x", count: 290)) \#(token)"}"#.utf8)),
            HTTPReply(status: 401, body: Array(#"{"message":"\#(token)"}"#.utf8)),
            HTTPReply(status: 400, body: Array("<title>Bearer \(token)</title>".utf8)),
            HTTPReply(status: 302, headers: [.location: "http://host/\(token)?t=\(token)"]),
        ])
    func failures(reply: HTTPReply) async throws {
        let remote = remote { _ in .success(reply) }
        let content = try TestContent(1, size: 1000)
        let results = [
            "\(await remote.register([content.description]))", "\(await remote.finish([content.upload("43")]))",
            "\(await Result.catching { () throws(RemoteFailure) in try await remote.remove(["43"]) })",
        ]
        for result in results {
            #expect(result.contains("failure"))
            #expect(!result.contains("for-anna") && !result.contains("0123456789"), "\(result)")
        }
    }

    @Test("causes no transport message that contains the token")
    func transport() async throws {
        let remote = remote { _ in .failure(.badReply("Weird reply: \(Self.token)")) }
        let result = await remote.register([try TestContent(1, size: 1000).description])
        #expect("\(result)".contains("Weird reply: ***"))
    }

    @Test("causes no URL or digest that contains the token")
    func urls() async throws {
        let url = "https://host/x?token=\(Self.token)"
        let content = try TestContent(1, size: 1000)
        let finished = remote { _ in .success(.json(data: #"{"finishStatus":1,"urls":{"43":"\#(url)"}}"#)) }
        #expect(
            await finished.finish([content.upload("43")]) == [
                .success(.confirmed(RemoteObject(id: "43", url: "https://host/x?token=***")))
            ])
        let mixed = remote { _ in .success(.json(data: #"{"finishStatus":1,"md5":{"43":"\#(Self.token)"}}"#)) }
        #expect("\(await mixed.finish([content.upload("43")]))".contains("with MD5 ***"))
        let posted = remote { _ in .success(.json(data: #"{"url":"\#(url)"}"#)) }
        let commit = SourceCommit(
            sourceID: "s", revision: 1, title: "t", cover: nil, fileIDs: ["43"], createdAt: WallTime(milliseconds: 0))
        #expect(try await posted.commit(commit) == .done(url: "https://host/x?token=***"))
        let portrait = remote { _ in .success(.json(data: #"{"userImg":"\#(url)"}"#)) }
        #expect(try await portrait.replacePortrait(TestBody([1])) == "https://host/x?token=***")
    }
}
