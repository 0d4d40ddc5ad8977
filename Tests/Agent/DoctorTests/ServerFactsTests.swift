import HTTPTypes
import Remotes
import Testing
import Transport

@testable import Doctor

struct ServerFactsTests {
    private func findings(
        _ status: Int, code: Int? = nil, envelope: Bool = false, html: Bool = false, location: String? = nil,
        token: TokenFacts.Source? = nil
    ) -> [Check: Finding] {
        let answer = ServerFacts.Answer(
            status: status, isEnvelope: envelope, code: code, message: envelope ? "it says" : nil, location: location,
            isHTML: html, milliseconds: 12)
        let facts = ServerFacts(url: "https://server", outcome: .answered(answer), tokenSource: token)
        return Dictionary(facts.findings.map { ($0.check, $0) }) { first, _ in first }
    }

    @Test func `an answer of the protocol is fine`() {
        let found = findings(200, code: 200, envelope: true, token: .environment)
        #expect(found[.server]?.level == .ok)
        #expect(found[.server]?.message.contains("12 ms") == true)
        #expect(found[.credentials]?.message.contains("OUTBOX_TOKEN") == true)
    }

    @Test func `a server that calls the empty question a bad one understood it`() {
        for found in [findings(400, code: 400, envelope: true), findings(200, code: 422, envelope: true)] {
            #expect(found[.server]?.level == .ok)
            #expect(found[.credentials]?.level == .ok)
        }
    }

    @Test(arguments: [401, 403])
    func `refused credentials stop uploads and name where the token came from`(status: Int) {
        let found = findings(status, code: status, envelope: true, token: .file("/etc/token"))
        #expect(found[.server]?.level == .ok)
        #expect(found[.credentials]?.level == .stop)
        #expect(found[.credentials]?.message.contains("/etc/token") == true)
    }

    @Test func `a code in the body counts like a status`() {
        #expect(findings(200, code: 401, envelope: true)[.credentials]?.level == .stop)
    }

    @Test func `missing credentials are told from refused ones`() {
        let found = findings(401)
        #expect(found[.credentials]?.message.contains("there is none") == true)
        #expect(found[.server] == nil, "whoever said so did not speak the protocol")
    }

    @Test func `a web page is a captive portal or the wrong server`() {
        #expect(findings(200, html: true)[.server]?.message.contains("captive portal") == true)
        #expect(findings(511)[.server]?.message.contains("captive portal") == true)
        #expect(findings(200)[.server]?.level == .stop)
    }

    @Test(arguments: [404, 405, 410])
    func `a wrong address stops uploads, with or without the protocol's body`(status: Int) {
        for envelope in [true, false] {
            let found = findings(status, code: envelope ? status : nil, envelope: envelope)
            #expect(found[.server]?.level == .stop)
            #expect(found[.server]?.remedy?.contains("remote.url") == true)
        }
    }

    @Test func `a redirect is named with its target`() {
        #expect(findings(302, location: "https://other/")[.server]?.message.contains("https://other/") == true)
    }

    @Test(
        arguments: [(500, .stop), (503, .stop), (507, .stop), (407, .stop), (400, .stop), (429, .warning)]
            as [(Int, Finding.Level)])
    func `other answers are judged by their status`(status: Int, level: Finding.Level) {
        #expect(findings(status)[.server]?.level == level)
    }

    @Test func `no answer stops uploads`() {
        let facts = ServerFacts(url: "https://server", outcome: .failed("connection reset"), tokenSource: nil)
        #expect(facts.findings.map(\.level) == [.stop])
    }

    // MARK: Connection

    private func connection(_ outcome: ConnectionFacts.Outcome) -> [Finding] {
        // 2026-11-21T00:00:00Z
        ConnectionFacts(server: "server:443", isEncrypted: true, outcome: outcome, now: 1_795_219_200).findings
    }

    @Test(
        arguments: [("Jan 20 00:00:00 2027 GMT", .ok, "60"), ("Nov 25 00:00:00 2026 GMT", .warning, "4")]
            as [(String, Finding.Level, String)])
    func `a certificate is told by the days it is still valid`(end: String, level: Finding.Level, days: String) {
        let report = ConnectionReport(address: "192.0.2.1", duration: .milliseconds(30), certificateEnd: end)
        let findings = connection(.connected(report))
        #expect(findings.map(\.check) == [.connection, .certificate])
        #expect(findings[0].message.contains("192.0.2.1"))
        #expect(findings[1].level == level)
        #expect(findings[1].message.contains("\(days) more days"))
    }

    @Test func `an end with a day of one digit is read`() {
        let report = ConnectionReport(address: nil, duration: .zero, certificateEnd: "Dec  1 00:00:00 2026 GMT")
        #expect(report.certificateExpiry == 1_796_083_200)
    }

    @Test(
        arguments: [
            ("SSL certificate problem: certificate is not yet valid", "clock"),
            ("SSL certificate problem: certificate has expired", "expired"),
            ("SSL certificate problem: self-signed certificate", "self-signed, so"),
            ("SSL certificate problem: unable to get local issuer certificate", "authority"),
            ("SSL: no alternative certificate subject name matches target host name 'x'", "another name"),
            ("SSL: certificate subject name does not match target IP address", "another name"),
            ("error setting certificate verify locations: CAfile: /nowhere.pem", "certificate authorities"),
            ("error setting certificate file: /nowhere.pem", "certificate authorities"),
            ("error adding trust anchors from file: /nowhere.pem", "certificate authorities"),
            ("OpenSSL/3.0.19: error:0A00010B:SSL routines::wrong version number", "no TLS"),
            ("connected, but no TLS handshake within 5.0 seconds", "does not answer in TLS"),
            ("something new", "handshake failed"),
        ])
    func `what is wrong with a certificate is said in words`(reason: String, words: String) {
        let finding = connection(.failed(.tls(reason)))[0]
        #expect(finding.check == .certificate)
        #expect(finding.level == .stop)
        #expect(finding.message.contains(words))
        #expect(finding.message.contains(reason))
        #expect(finding.remedy != nil)
    }

    @Test func `no connection and no answer in time stop uploads`() {
        #expect(connection(.failed(.connect("Connection refused"))).map(\.level) == [.stop])
        #expect(connection(.late).map(\.level) == [.stop])
    }

    @Test func `a name without an address stops uploads`() {
        #expect(NameFacts.found(["192.0.2.1"]).findings(host: "server").map(\.level) == [.ok])
        #expect(NameFacts.failed("Name or service not known").findings(host: "server").map(\.level) == [.stop])
        #expect(NameFacts.late.findings(host: "server").map(\.level) == [.stop])
    }

    // MARK: Proxy

    private func proxy(_ host: String, encrypted: Bool = false, _ environment: [String: String]) -> ProxyFacts? {
        ProxyFacts(url: "\(encrypted ? "https" : "http")://\(host)/path", environment: environment)
    }

    @Test func `the variable of the scheme names the proxy, and no password is shown`() {
        let facts = proxy("server", ["http_proxy": "http://ann:secret@proxy:3128", "https_proxy": "http://other"])
        #expect(facts?.address == "http://proxy:3128")
        #expect(facts?.findings.map(\.level) == [.note])
        #expect(proxy("server", encrypted: true, ["HTTPS_PROXY": "p:1"])?.variable == "HTTPS_PROXY")
        #expect(proxy("server", ["ALL_PROXY": "p:1"])?.variable == "ALL_PROXY")
        #expect(proxy("server", ["HTTP_PROXY": "p:1"]) == nil, "libcurl does not look at it")
        #expect(proxy("server", ["http_proxy": "p:1", "no_proxy": "", "NO_PROXY": "server"]) == nil)
    }

    @Test(
        arguments: [
            ("server", true), ("example.com", true), (".example.com", true), ("*", true), ("xample.com", false),
            ("other, a.example.com", true),
        ])
    func `exceptions are hosts and domains`(exceptions: String, isExcepted: Bool) {
        let host = exceptions == "server" ? "server" : "a.example.com"
        let facts = proxy(host, ["http_proxy": "p:1", "NO_PROXY": exceptions])
        #expect((facts == nil) == isExcepted)
    }

    @Test(arguments: ["127.0.0.1", "127.1.2.3", "localhost", "[::1]"])
    func `this very machine is asked directly, as the agent does`(host: String) {
        #expect(proxy(host, ["http_proxy": "p:1"]) == nil)
    }
}

/// The part of a reply that reaches the doctor's findings.
@Suite("Text of a reply to the doctor")
struct AnswerTextTests {
    @Test("is shown without the token, and a redirect without its query")
    func secrets() {
        let reply = HTTPReply(
            status: 302, headers: [.location: "https://other/for-anna/login?token=for-anna&mac=00#x"],
            body: Array(#"{"code":401,"message":"Bearer for-anna"}"#.utf8))
        let answer = ServerFacts.Answer(reply, milliseconds: 1, mask: TokenMask(token: "for-anna"))
        #expect(answer.location == "https://other/***/login")
        #expect(answer.message == "Bearer ***")
    }
}

@Suite("The server's verdict on a token")
struct TokenVerdictTests {
    private func verdict(_ status: Int, code: Int? = nil, envelope: Bool = true) -> TokenVerdict {
        let answer = ServerFacts.Answer(
            status: status, isEnvelope: envelope, code: code, message: envelope ? "it says" : nil, location: nil,
            isHTML: false, milliseconds: 1)
        return TokenVerdict(ServerFacts(url: "https://host", outcome: .answered(answer), tokenSource: .login))
    }

    @Test(
        "follows from its answer to an empty question",
        arguments: [
            (200, nil, TokenVerdict.Word.accepted), (200, 400, .accepted), (400, nil, .accepted), (401, nil, .refused),
            (200, 403, .refused), (404, nil, .unknown), (503, nil, .unknown), (302, nil, .unknown),
        ] as [(Int, Int?, TokenVerdict.Word)])
    func words(status: Int, code: Int?, word: TokenVerdict.Word) {
        #expect(verdict(status, code: code).word == word)
    }

    @Test("is unknown from a page of another server")
    func page() {
        #expect(verdict(400, envelope: false).word == .unknown)
        #expect(verdict(200, envelope: false).word == .unknown)
    }

    @Test("is shown in the server's words")
    func message() {
        #expect(verdict(401).message.contains("it says"))
    }

    @Test("is shown in the doctor's words", arguments: [200, 400, 401])
    func sameWords(status: Int) {
        let answer = ServerFacts.Answer(
            status: status, isEnvelope: true, code: nil, message: nil, location: nil, isHTML: false, milliseconds: 1)
        let facts = ServerFacts(url: "https://host", outcome: .answered(answer), tokenSource: .login)
        let finding = facts.findings.first { $0.check == .credentials }
        #expect(TokenVerdict(facts).message.hasPrefix(finding?.message ?? "no finding"))
    }
}
