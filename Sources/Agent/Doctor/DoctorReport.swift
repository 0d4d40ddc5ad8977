import Text
package import Console

/// All findings and the verdict.
package struct DoctorReport: Equatable, Sendable, Encodable {
    /// The findings in the order of their checks.
    let findings: [Finding]
    /// Whether nothing is uploaded because no agent runs, although nothing would stop one.
    private let lacksAgent: Bool

    init(_ findings: [Finding], lacksAgent: Bool = false) {
        self.lacksAgent = lacksAgent
        let order = Dictionary(uniqueKeysWithValues: Check.allCases.enumerated().map { ($1, $0) })
        // Also sorted by position, to keep the order within one check.
        self.findings = findings.enumerated().sorted {
            (order[$0.element.check] ?? 0, $0.offset) < (order[$1.element.check] ?? 0, $1.offset)
        }
        .map(\.element)
    }

    /// Whether no finding stops uploads.
    package var isOK: Bool { !findings.contains { $0.level == .stop } }

    private enum CodingKeys: String, CodingKey {
        case ok, findings
    }

    /// Encodes `{"ok": …, "findings": […]}`.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(isOK, forKey: .ok)
        try container.encode(findings, forKey: .findings)
    }
}

extension DoctorReport {
    /// The report for display: one line for each finding, and a summary.
    package func lines(_ look: ConsoleLook) -> [String] {
        let width = findings.map(\.check.title.count).max() ?? 0
        return findings.map { $0.line(look, titleWidth: width) } + [summary(look)]
    }

    private func summary(_ look: ConsoleLook) -> String {
        func count(_ level: Finding.Level, _ one: String, _ many: String) -> String? {
            let count = findings.count { $0.level == level }
            return count == 0 ? nil : "\(count) \(count == 1 ? one : many)"
        }
        let rest = [count(.warning, "warning", "warnings"), count(.note, "note", "notes")].compactMap(\.self)
        let tail = rest.isEmpty ? "" : "; " + rest.joined(separator: ", ")
        if let stops = count(.stop, "problem stops", "problems stop") {
            return look.paint("\(stops) uploads\(tail)", .red)
        }
        if lacksAgent {
            let what = "nothing is uploaded, because no agent runs: start `outbox run`, or the service"
            return look.paint("\(what)\(tail)", .yellow)
        }
        return look.paint("nothing stops uploads\(tail)", .green)
    }
}

extension Finding {
    func line(_ look: ConsoleLook, titleWidth: Int) -> String {
        let arrow = look.hasUnicode ? "→" : "->"
        let advice = remedy.map { " \(arrow) " + DisplayText.escaped($0) } ?? ""
        let title = DisplayText.padded(check.title, to: titleWidth)
        return "\(level.mark(look)) \(title)  \(DisplayText.escaped(message))\(advice)"
    }
}

extension Finding.Level {
    /// A sign if the terminal can show it, otherwise a word.
    fileprivate func mark(_ look: ConsoleLook) -> String {
        let hasSigns = look.isLive && look.hasUnicode
        return switch self {
        case .ok: look.paint(hasSigns ? "✓" : "ok     ", .green)
        case .note: look.paint(hasSigns ? "·" : "note   ", .dim)
        case .warning: look.paint(hasSigns ? "!" : "warning", .yellow)
        case .stop: look.paint(hasSigns ? "✗" : "stop   ", .red)
        }
    }
}
