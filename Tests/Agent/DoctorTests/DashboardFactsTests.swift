import Testing

@testable import Doctor

@Suite struct DashboardFactsTests {
    @Test(
        arguments: [
            (DashboardFacts.Answer.healthy, Finding.Level.ok, "answers"),
            (.status(401), .warning, "refuses the secret"), (.status(503), .warning, "answers with 503"),
            (.failed("no route"), .warning, "no route"),
        ])
    func `a dashboard answers, or there is advice`(answer: DashboardFacts.Answer, level: Finding.Level, text: String)
        throws
    {
        let finding = try #require(DashboardFacts(address: "http://127.0.0.1:8788", answer: answer).findings.first)
        #expect(finding.level == level && finding.message.contains(text), "\(finding)")
        #expect((finding.remedy == nil) == (level == .ok))
    }
}
