import HTTPTypes
import Testing
import Transport
import UploadCore

@testable import Remotes

/// The meaning of a reply, without the message.
enum Judgement: Equatable, Sendable {
    case success, temporary, slow, signedOut, forgotten, permanent

    init(_ failure: RemoteFailure) {
        self =
            switch failure {
            case .temporary(_, _, let outlook): outlook == .lasting ? .slow : .temporary
            case .signedOut: .signedOut
            case .forgotten: .forgotten
            default: .permanent
            }
    }

    /// The table of contract section 4.
    ///
    /// - Parameters:
    ///   - isForeign: whether the body is neither empty nor the protocol's JSON.
    ///   - isPage: whether the body is a web page.
    static func expected(_ status: Int, knownIDs: Bool, isForeign: Bool = false, isPage: Bool = false) -> Judgement {
        if isPage, [401, 403].contains(status) || knownIDs && [404, 410].contains(status) { return .slow }
        // Without the protocol's JSON, a proxy refuses the size of the request.
        if status == 413, isForeign { return .slow }
        let judgement = expectedByStatus(status, knownIDs: knownIDs)
        return isForeign && judgement == .permanent ? .slow : judgement
    }

    private static func expectedByStatus(_ status: Int, knownIDs: Bool) -> Judgement {
        switch status {
        case 300...399, 407, 408, 425, 429, 511: .temporary
        case 401, 403: .signedOut
        case 404, 410: knownIDs ? .forgotten : .slow
        case 405: knownIDs ? .permanent : .slow
        case 507: .slow
        case 501, 505: .permanent
        case 500...599: .temporary
        default: .permanent
        }
    }
}

@Suite("Judging a reply")
struct ReplyJudgeTests {
    private func judge(_ reply: HTTPReply, _ subject: ReplyJudge.Subject = .knownIDs) -> Judgement {
        do throws(RemoteFailure) {
            try ReplyJudge(endpoint: "x.do", subject: subject).accept(reply)
            return .success
        } catch {
            return Judgement(error)
        }
    }

    private func reply(_ status: Int, _ body: String = "", headers: HTTPFields = [:]) -> HTTPReply {
        HTTPReply(status: status, headers: headers, body: Array(body.utf8))
    }

    private func retryAfter(_ headers: HTTPFields) throws -> Duration? {
        do throws(RemoteFailure) {
            try ReplyJudge(endpoint: "x.do", subject: .noID).accept(reply(503, headers: headers))
        } catch {
            if case .temporary(_, let retryAfter, _) = error { return retryAfter }
        }
        Issue.record("not temporary")
        return nil
    }

    @Test("depends on the status", arguments: 300...599)
    func status(status: Int) {
        #expect(judge(reply(status), .knownIDs) == .expected(status, knownIDs: true, isForeign: status == 413))
        #expect(judge(reply(status), .noID) == .expected(status, knownIDs: false, isForeign: status == 413))
    }

    @Test(
        "takes the page of a proxy for a refusal of the request, not of the credentials or the ids",
        arguments: [401, 403, 404, 405, 406, 410, 413, 400])
    func page(status: Int) {
        let page = "<html><head><title>Request Rejected</title></head></html>"
        #expect(judge(reply(status, page, headers: [.contentType: "text/html"])) == .slow)
        #expect(judge(reply(status, page)) == .slow)
    }

    @Test("takes a page that asks for a login for a refusal of the credentials")
    func loginPage() {
        #expect(judge(reply(401, "<html>", headers: [.wwwAuthenticate: "Basic"])) == .signedOut)
    }

    @Test(
        "names the proxy's setting and the size of the request that a proxy does not take", arguments: ["", "<html>"])
    func tooLarge(body: String) {
        let error = error(reply(413, body))
        #expect(error?.code == "too_large_for_proxy")
        #expect(error?.message.contains("client_max_body_size") == true)
        #expect(error?.message.contains("LimitRequestBody") == true)
    }

    @Test("names the filter of a proxy that rejects a request", arguments: [400, 403, 406])
    func filtered(status: Int) {
        let error = error(reply(status, "<html>Rejected</html>"))
        #expect(error?.code == "bad_reply")
        #expect(error?.message.contains("ModSecurity") == true)
    }

    @Test("waits if a proxy drops the header field file_block, until a fragment has arrived")
    func headerDropped() {
        let usual = UsualReply()
        func judge(_ reply: HTTPReply) -> Judgement {
            do throws(RemoteFailure) {
                try ReplyJudge(endpoint: "upload.do", subject: .knownIDs, usual: usual).accept(reply)
                return .success
            } catch {
                if case .temporary(let error, _, _) = error {
                    #expect(error.message.contains("underscores_in_headers on"))
                }
                return Judgement(error)
            }
        }
        let refusal = reply(400, #"{"code":400,"message":"The header field file_block is missing."}"#)
        #expect(judge(refusal) == .slow)
        #expect(judge(reply(200, #"{"code":200}"#)) == .success)
        #expect(judge(refusal) == .permanent)
    }

    @Test("reports a wrong URL if the endpoint is unknown", arguments: [404, 405, 410])
    func noServer(status: Int) throws {
        let judge = ReplyJudge(endpoint: "preLoad.do", subject: .noID)
        let error = #expect(throws: RemoteFailure.self) { try judge.accept(reply(status)) }
        guard case .temporary(let told, _, outlook: .lasting) = error else { throw Surprise() }
        #expect(told.code == "wrong_url")
        #expect(told.message.hasPrefix("preLoad.do: no fileSection server at this address (the answer was \(status))"))
    }

    private struct Surprise: Error {}

    @Test("depends on the code in the body if the status is a success", arguments: 400...599)
    func code(code: Int) {
        let body = #"{"code":\#(code),"message":"no","data":{}}"#
        #expect(judge(reply(200, body), .knownIDs) == .expected(code, knownIDs: true))
        #expect(judge(reply(200, body), .noID) == .expected(code, knownIDs: false))
    }

    @Test(
        "accepts codes 200 to 299 or no code as success",
        arguments: ["{}", #"{"code":200}"#, #"{"code":299}"#, #"{"code":null}"#])
    func success(body: String) {
        #expect(judge(reply(201, body)) == .success)
    }

    @Test(
        "treats everything else as a bad reply",
        arguments: [
            "", "<html>", "[]", "200", #"{"code":"200"}"#, #"{"code":100}"#, #"{"code":302}"#, #"{"code":600}"#,
            #"{"code":-1}"#, #"{"code":1e99}"#, #"{"code":200"#,
        ])
    func badReply(body: String) {
        #expect(judge(reply(200, body)) == .temporary)
    }

    @Test("judges a reply the same, whatever reply came before")
    func usual() {
        let bodies = [
            "", " ", "{}", "[]", "<html>", #"{"code":200}"#, #"{"code":200,"message":"ok","data":{}}"#,
            #"{"code":200,"message":"ok","data":{}} "#, #"{"code":299}"#, #"{"code":401}"#, #"{"code":404}"#,
            #"{"code":500}"#, #"{"code":null}"#, #"{"code":"200"}"#, #"{"code":200"#, "\u{0}",
            #"{"message":"\#(String(repeating: "x", count: 5000))"}"#,
        ]
        func outcome(_ reply: HTTPReply, _ usual: UsualReply?) -> RemoteFailure? {
            do throws(RemoteFailure) {
                try ReplyJudge(endpoint: "x.do", subject: .knownIDs, usual: usual).accept(reply)
                return nil
            } catch {
                return error
            }
        }
        for first in bodies {
            for second in bodies {
                for status in [200, 201, 299, 302, 401, 404, 413, 500] {
                    let usual = UsualReply()
                    #expect(outcome(reply(200, first), usual) == outcome(reply(200, first), nil))
                    #expect(outcome(reply(status, second), usual) == outcome(reply(status, second), nil))
                    #expect(outcome(reply(200, first), usual) == outcome(reply(200, first), nil))
                }
            }
        }
    }

    @Test(
        "a 403 that names one file is about that file",
        arguments: [
            (#"{"data":{"fileId":"43"}}"#, Judgement.permanent), (#"{"data":{"fileIds":["43"]}}"#, .permanent),
            (#"{"data":{"fileIds":["43","44"]}}"#, .signedOut), (#"{"data":{}}"#, .signedOut), ("", .signedOut),
        ])
    func forbidden(body: String, judgement: Judgement) {
        #expect(judge(reply(403, body)) == judgement)
    }

    private func error(_ reply: HTTPReply) -> FileError? {
        do throws(RemoteFailure) {
            try ReplyJudge(endpoint: "x.do", subject: .knownIDs).accept(reply)
        } catch {
            if case .temporary(let error, _, _) = error { return error }
        }
        return nil
    }

    @Test(
        "a web page is reported as a web page, with advice",
        arguments: [
            ("<!DOCTYPE html><html>", "text/html"), ("\u{FEFF}\r\n <html>", "text/plain"), ("Sign in!", "text/html"),
            ("<?xml version=\"1.0\"?><html>", "application/xhtml+xml"),
        ])
    func webPage(body: String, type: String) {
        let error = error(reply(200, body, headers: [.contentType: type]))
        #expect(error?.code == "captive_portal")
        #expect(error?.message.contains("captive portal? Log in to the network") == true)
    }

    @Test("511 is reported as a captive portal")
    func networkLogin() {
        let error = error(reply(511, "<html>"))
        #expect(error?.code == "captive_portal")
        #expect(error?.message.contains("captive portal") == true)
    }

    @Test("a redirect is reported with its target without the query, and is not followed")
    func redirect() {
        let error = error(reply(302, headers: [.location: "http://portal.example/login?mac=00:11"]))
        #expect(error?.code == "redirected")
        #expect(error?.message.contains("http://portal.example/login (302)") == true)
        #expect(error?.message.contains("mac=") == false)
        #expect(error?.message.contains("captive portal") == true)
    }

    @Test("a non-JSON reply of the server is not reported as a portal")
    func noPortal() {
        #expect(error(reply(200, "oops"))?.code == "bad_reply")
        #expect(error(reply(502, "<html>nginx", headers: [.contentType: "text/html"]))?.code == "server_error")
    }

    @Test("the failure contains the server's message and status")
    func message() {
        #expect(
            throws: RemoteFailure.permanent(
                FileError(code: "refused", message: "x.do: the server answered 413: too fat", retryable: false))
        ) { try ReplyJudge(endpoint: "x.do", subject: .knownIDs).accept(reply(413, #"{"message":"too fat"}"#)) }
    }

    @Test("Retry-After in seconds", arguments: [("0", 0), ("120", 120), ("99999999", 86400)])
    func seconds(value: String, seconds: Int) throws {
        #expect(try retryAfter([.retryAfter: value]) == .seconds(seconds))
    }

    @Test(
        "Retry-After as a date counts from the reply's own date",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 37), ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
            ("Tue, 29 Feb 2028 00:00:00 GMT", 86400),
        ])
    func date(value: String, seconds: Int) throws {
        #expect(try retryAfter([.retryAfter: value, .date: "Sun, 06 Nov 1994 08:49:00 GMT"]) == .seconds(seconds))
    }

    @Test(
        "Retry-After as a date without the reply's own counts from this machine's clock, and is not believed for long",
        arguments: [(37, 37), (-5, 0), (599, 599), (86_400, 600), (-86_400, 0)])
    func ownClock(ahead: Int64, seconds: Int) {
        // Sun, 06 Nov 1994 08:49:37 GMT
        let headers: HTTPFields = [.retryAfter: "Sun, 06 Nov 1994 08:49:37 GMT"]
        #expect(RetryAfter.duration(in: headers, wallClock: { 784_111_777 - ahead }) == .seconds(seconds))
    }

    @Test("Retry-After is obeyed with every temporary status from the server", arguments: 400...599)
    func retryAfterWithEveryStatus(status: Int) {
        for subject in [ReplyJudge.Subject.knownIDs, .noID] {
            do throws(RemoteFailure) {
                let headers: HTTPFields = [.retryAfter: "7"]
                try ReplyJudge(endpoint: "x.do", subject: subject).accept(reply(status, headers: headers))
                Issue.record("not a failure")
            } catch {
                if case .temporary(_, let retryAfter, _) = error { #expect(retryAfter == .seconds(7)) }
            }
        }
    }

    @Test("a refusal without the protocol's JSON comes from another server and is temporary", arguments: 400...599)
    func garbageBodies(status: Int) {
        let bodies = [
            "<html>", "{", "\u{0}", #"{"code":200,"message":7}"#, #"{"data":"#, String(repeating: "[", count: 9000),
        ]
        for body in bodies {
            let expected = Judgement.expected(status, knownIDs: true, isForeign: true, isPage: body == "<html>")
            #expect(judge(reply(status, body)) == expected, "\(body.prefix(20))")
        }
        for blank in [" ", "\r\n"] {
            #expect(judge(reply(status, blank)) == .expected(status, knownIDs: true, isForeign: status == 413))
        }
    }

    @Test(
        "the failure contains the first line of another server's page",
        arguments: [
            (
                "<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>\r\n<body>",
                "text/html", "400 The plain HTTP request was sent to HTTPS port"
            ), ("Client sent an HTTP request to an HTTPS server.\n", "text/plain", "Client sent an HTTP request"),
            ("\u{FEFF}\n\n  Bad\tthing \u{1B}[2J ", "text/plain", "\"Bad thing [2J\""),
            (String(repeating: "x", count: 5000), "text/plain", "\"\(String(repeating: "x", count: 200))\""),
        ])
    func firstLine(body: String, type: String, line: String) throws {
        let failure = self.error(reply(400, body, headers: [.contentType: type]))
        let error = try #require(failure)
        #expect(error.code == "bad_reply" && error.retryable)
        #expect(error.message.contains("another server answered 400"))
        #expect(error.message.contains(line), "\(error.message)")
        #expect(error.message.contains("remote.url"))
    }

    @Test(
        "Retry-After that makes no sense is none",
        arguments: ["", "-1", "soon", "1.5", "Sun, 99 Nov 1994 08:49:37 GMT"])
    func nonsense(value: String) throws {
        #expect(try retryAfter([.retryAfter: value, .date: "Sun, 06 Nov 1994 08:49:00 GMT"]) == nil)
    }

    @Test(
        "dates are parsed correctly",
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799), ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
        ] as [(String, Int64)])
    func dates(text: String, seconds: Int64) {
        #expect(HTTPDate.secondsSince1970(text) == seconds)
    }

    @Test("a server behind a gateway, portal or redirect is unreachable; a server that answers is in trouble")
    func outlook() {
        func outlook(_ reply: HTTPReply) -> Outlook? {
            do throws(RemoteFailure) {
                try ReplyJudge(endpoint: "x.do", subject: .knownIDs).accept(reply)
            } catch {
                if case .temporary(_, _, let outlook) = error { return outlook }
            }
            return nil
        }
        for status in [302, 502, 503, 504, 511] { #expect(outlook(reply(status)) == .gateway, "\(status)") }
        for status in [408, 429] { #expect(outlook(reply(status)) == .busy, "\(status)") }
        for status in [500, 599] { #expect(outlook(reply(status)) == .trouble, "\(status)") }
        #expect(outlook(reply(507)) == .lasting)
        #expect(outlook(reply(200, "<html>")) == .gateway)
        #expect(outlook(reply(200, "oops")) == .trouble)
    }

    @Test("transport errors are temporary, except unreadable bytes and invalid requests")
    func transportErrors() {
        let errors: [TransportError] = [
            .resolve(""), .connect(""), .tls(""), .reset(""), .stalled(""), .replyTimeout(""), .replyTooLong(""),
            .badReply(""), .other(""), .body(BodyTooShort(promised: 2, delivered: 1)),
        ]
        for error in errors { #expect(Judgement(RemoteFailure(error, endpoint: "x")) == .temporary, "\(error)") }
        let codes: [(TransportError, String)] = [(.stalled(""), "stalled"), (.replyTimeout(""), "reply_timeout")]
        for (error, code) in codes {
            guard case .temporary(let told, _, _) = RemoteFailure(error, endpoint: "x") else { continue }
            #expect(told.code == code)
        }
        #expect(Judgement(RemoteFailure(.badURL(""), endpoint: "x")) == .slow)
        #expect(Judgement(RemoteFailure(.badRequest(""), endpoint: "x")) == .permanent)
        #expect(RemoteFailure(.cancelled, endpoint: "x") == .cancelled)
        let problem = SourceProblem(path: .root, kind: .changed)
        #expect(RemoteFailure(.body(problem), endpoint: "x") == .source(problem))
    }
}
