import Testing

@testable import AgentConfiguration
@testable import Doctor

struct AccessKeyFactsTests {
    private let keys = ["AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "hidden"]

    private func findings(_ environment: [String: String]) -> [Finding] {
        var remote = Configuration.Remote()
        remote.protocol = .s3
        return AccessKeyFacts(probing: remote, environment: environment).findings
    }

    @Test func `names where the keys come from, never the keys`() {
        #expect(findings(keys) == [Finding(.token, .ok, "access keys from AWS_ACCESS_KEY_ID")])
        let temporary = keys.merging(["AWS_SESSION_TOKEN": "t"]) { $1 }
        #expect(findings(temporary).first?.message == "temporary access keys from AWS_ACCESS_KEY_ID")
    }

    @Test func `no keys stop uploads`() {
        let found = findings(["HOME": "/nonexistent"])
        #expect(found.map(\.level) == [.stop])
        #expect(found.first?.message.contains("/nonexistent/.aws/credentials can't be read") == true)
    }
}
