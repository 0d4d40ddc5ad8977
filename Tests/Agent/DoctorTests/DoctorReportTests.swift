import Console
import Foundation
import TestSupport
import Testing

@testable import Doctor

struct DoctorReportTests {
    private let plain = ConsoleLook(isLive: false, hasColours: false, hasUnicode: false, columns: nil)
    private let terminal = ConsoleLook(isLive: true, hasColours: true, hasUnicode: true, columns: 80)

    @Test func `findings stand in the order of the checks, those of one check as they were found`() {
        let report = DoctorReport([
            Finding(.linger, .ok, "last"), Finding(.outbox, .ok, "second"), Finding(.outbox, .note, "third"),
            Finding(.configuration, .ok, "first"),
        ])
        #expect(report.findings.map(\.message) == ["first", "second", "third", "last"])
    }

    @Test func `only a stop makes the answer no`() {
        #expect(DoctorReport([Finding(.dns, .warning, "w"), Finding(.state, .note, "n")]).isOK)
        #expect(!DoctorReport([Finding(.dns, .stop, "s")]).isOK)
    }

    @Test func `elsewhere than on a terminal the marks are words`() {
        let report = DoctorReport([
            Finding(.outboxSpace, .warning, "full", remedy: "make room"), Finding(.dns, .ok, "x"),
        ])
        #expect(
            report.lines(plain) == [
                "warning outbox space  full -> make room", "ok      dns           x",
                "nothing stops uploads; 1 warning",
            ])
    }

    @Test func `on a terminal the marks are coloured signs`() {
        let lines = DoctorReport([Finding(.dns, .stop, "no address")]).lines(terminal)
        #expect(lines[0].hasPrefix("\u{1B}[31m✗\u{1B}[0m dns"))
        #expect(lines[1].contains("1 problem stops uploads"))
    }

    @Test func `a finding is one line, whatever a name or a server says`() {
        let lines = DoctorReport([Finding(.server, .stop, "says \n\u{1B}[2J", remedy: "a\nb")]).lines(plain)
        #expect(lines.count == 2)
        #expect(!lines[0].contains("\u{1B}") && !lines[0].contains("\n"))
    }

    @Test func `without an agent nothing is uploaded, and the summary says so`() {
        let report = DoctorReport([Finding(.agent, .note, "not running")], lacksAgent: true)
        #expect(report.isOK)
        #expect(report.lines(plain).last?.hasPrefix("nothing is uploaded, because no agent runs") == true)
        let stopped = DoctorReport([Finding(.dns, .stop, "s")], lacksAgent: true)
        #expect(stopped.lines(plain).last == "1 problem stops uploads")
    }

    @Test func `the summary counts stops, warnings and notes`() {
        let findings = [Finding.Level.stop, .stop, .warning, .note, .note, .ok].map { Finding(.server, $0, "") }
        #expect(DoctorReport(findings).lines(plain).last == "2 problems stop uploads; 1 warning, 2 notes")
    }

    @Test func `JSON has the verdict and each finding with all its members`() throws {
        let report = DoctorReport([Finding(.openFiles, .ok, "m"), Finding(.token, .stop, "n", remedy: "r")])
        let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(report)) as? [String: Any]
        #expect(object?["ok"] as? Bool == false)
        let findings = object?["findings"] as? [[String: Any]]
        #expect(findings?[0]["check"] as? String == "token")
        #expect(findings?[0]["remedy"] as? String == "r")
        #expect(findings?[1]["check"] as? String == "open_files")
        #expect(findings?[1]["level"] as? String == "ok")
        #expect(findings?[1]["remedy"] is NSNull)
    }

    @Test func `a warning does not stop uploads, a refusal does`() {
        var facts = ConfigurationFacts(file: "/a.toml", warnings: [], refusal: nil)
        #expect(facts.findings.map(\.level) == [.ok])
        facts.warnings = ["OUTBOX_UPLAOD is no key"]
        #expect(facts.findings.map(\.level) == [.warning])
        facts.refusal = "the outbox lies inside state"
        #expect(facts.findings.first?.level == .stop)
    }

    @Test func `a configuration of one's own that the working directory shadows is a warning`() {
        let facts = ConfigurationFacts(
            file: "/work/agent.toml", warnings: [], shadowed: "/home/a/.config/outbox/agent.toml", refusal: nil)
        #expect(facts.findings.map(\.level) == [.warning])
        #expect(facts.findings[0].message.contains("/home/a/.config/outbox/agent.toml"))
        #expect(facts.findings[0].remedy?.contains("--config") == true)
    }

    @Test func `every check is documented`() throws {
        let text = try Repository.text("docs/troubleshooting.md")
        for check in Check.allCases {
            let isDocumented = text.contains("| `\(check.rawValue)` |")
            #expect(isDocumented, "add a row for `\(check.rawValue)` to docs/troubleshooting.md")
        }
    }
}
