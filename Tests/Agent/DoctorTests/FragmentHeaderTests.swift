import Testing

@testable import Doctor

struct FragmentHeaderTests {
    private func answer(_ status: Int, _ message: String?, code: Int? = nil, envelope: Bool = true)
        -> ServerFacts.Answer
    {
        ServerFacts.Answer(
            status: status, isEnvelope: envelope, code: code ?? status, message: message, location: nil, isHTML: false,
            milliseconds: 1)
    }

    @Test func `a server that misses the upload saw the header`() {
        for answer in [answer(404, "no such upload"), answer(200, "no such upload", code: 410)] {
            let facts = FragmentHeaderFacts(with: answer)
            #expect(!facts.needsComparison)
            #expect(facts.findings.map(\.level) == [.ok])
        }
    }

    @Test func `a server that misses the header says that a proxy drops it`() {
        let facts = FragmentHeaderFacts(with: answer(400, "The header field file_block is missing."))
        #expect(!facts.needsComparison)
        #expect(facts.findings.map(\.level) == [.stop])
        #expect(facts.findings[0].remedy?.contains("underscores_in_headers on") == true)
    }

    @Test func `an answer that leaves it open is compared with the answer to no header`() {
        var facts = FragmentHeaderFacts(with: answer(400, "bad request"))
        #expect(facts.needsComparison && facts.findings.isEmpty)
        facts.without = answer(400, "bad request")
        #expect(facts.findings.map(\.level) == [.warning])
        facts.without = answer(400, "no header")
        #expect(facts.findings.map(\.level) == [.ok])
        facts.without = answer(422, "bad request")
        #expect(facts.findings.map(\.level) == [.ok])
    }

    @Test(arguments: [200, 401, 403, 429, 500, 503])
    func `a server with other troubles tells nothing`(status: Int) {
        let facts = FragmentHeaderFacts(with: answer(status, "file_block"))
        #expect(!facts.needsComparison && facts.findings.isEmpty)
    }

    @Test(arguments: [(413, false, "client_max_body_size"), (403, true, "ModSecurity"), (406, true, "ModSecurity")])
    func `a proxy that takes no whole fragment is named with its setting`(status: Int, isHTML: Bool, setting: String) {
        var answer = answer(status, nil, envelope: false)
        answer.isHTML = isHTML
        let facts = FragmentHeaderFacts(with: answer)
        #expect(!facts.needsComparison)
        #expect(facts.findings.map(\.level) == [.stop])
        #expect(facts.findings[0].remedy?.contains(setting) == true)
    }

    @Test func `a web page tells nothing`() {
        let facts = FragmentHeaderFacts(with: answer(400, nil, envelope: false))
        #expect(!facts.needsComparison && facts.findings.isEmpty)
    }
}
