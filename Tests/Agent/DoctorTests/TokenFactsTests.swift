import Testing

@testable import Doctor

struct TokenFactsTests {
    private let none = TokenFacts(
        environmentHoldsToken: nil, tokenFile: nil, stored: .init(path: "/state/token", content: .missing),
        mayTravel: true, url: "https://server")

    private func with(file content: TokenFacts.File.Content, permissions: UInt32 = 0o600) -> TokenFacts {
        var facts = none
        facts.tokenFile = .init(path: "/etc/token", content: content, permissions: permissions)
        return facts
    }

    @Test func `no token anywhere is a note`() {
        #expect(none.findings.map(\.level) == [.note])
        #expect(none.source == nil)
    }

    @Test func `a private token file is fine`() {
        #expect(with(file: .token).findings.map(\.level) == [.ok])
        #expect(with(file: .token).source == .file("/etc/token"))
    }

    @Test(arguments: [TokenFacts.File.Content.missing, .unreadable("Permission denied"), .noToken])
    func `a token file that gives no token stops uploads`(content: TokenFacts.File.Content) {
        let findings = with(file: content).findings
        #expect(findings.map(\.level) == [.stop])
        #expect(findings[0].message.contains("/etc/token"))
        #expect(findings[0].remedy != nil)
    }

    @Test func `a token file that gives none is a warning where another source has one`() {
        var facts = with(file: .missing)
        facts.environmentHoldsToken = true
        #expect(facts.findings.map(\.level) == [.warning])
        #expect(facts.source == .environment)
    }

    @Test(arguments: [(0o644, "everybody"), (0o640, "group"), (0o604, "everybody")] as [(UInt32, String)])
    func `a token file that others can read is a warning with the chmod to type`(mode: UInt32, who: String) {
        let finding = with(file: .token, permissions: mode).findings[0]
        #expect(finding.level == .warning)
        #expect(finding.message.contains(who))
        #expect(finding.remedy == "chmod 600 /etc/token")
    }

    @Test func `a token that must not travel over plain http stops uploads`() {
        var facts = with(file: .token)
        facts.mayTravel = false
        #expect(facts.findings.map(\.level) == [.stop])
        #expect(facts.findings[0].remedy?.contains("https://") == true)
    }

    @Test func `a plain http address without a token is no trouble`() {
        var facts = none
        facts.mayTravel = false
        #expect(facts.findings.map(\.level) == [.note])
    }

    @Test func `an environment variable that holds no token is a warning`() {
        var facts = none
        facts.environmentHoldsToken = false
        #expect(facts.findings.map(\.level) == [.warning])
    }

    @Test func `what login stored is used last`() {
        var facts = with(file: .token)
        facts.stored.content = .token
        facts.stored.permissions = 0o600
        #expect(facts.source == .file("/etc/token"))
        facts.tokenFile = nil
        #expect(facts.source == .login)
        #expect(facts.findings.map(\.level) == [.ok])
    }
}
