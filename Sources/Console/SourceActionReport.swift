import AgentSupport
package import Reports
import UploadCore

/// The result of a wish for all named sources, as `--json` prints it.
package struct SourceActionReport: Encodable, Equatable, Sendable {
    /// A source that the wish did not change.
    package struct Unchanged: Encodable, Equatable, Sendable {
        /// The source's entry.
        package var source: SourceEntry
        /// The reason, for display.
        package var reason: String

        package init(source: SourceEntry, reason: String) {
            self.source = source
            self.reason = reason
        }
    }

    /// Sources that the wish changed.
    package private(set) var changed: [SourceEntry] = []
    /// Sources already in the wanted state.
    package private(set) var unchanged: [Unchanged] = []
    /// Sources not in the wanted state, with the reason.
    package private(set) var failed: [Unchanged] = []

    private let wish: SourceWish

    private enum CodingKeys: CodingKey {
        case changed, unchanged, failed
    }

    /// Creates an empty report.
    package init(_ wish: SourceWish) {
        self.wish = wish
    }

    /// Adds the agent's answer.
    package mutating func add(_ outcome: SourceOutcome) {
        let source = outcome.source
        if let refusal = outcome.refusal {
            let told = Unchanged(source: source, reason: refusal)
            if wish.isFulfilled(by: source), source.error?.code != "other_account" {
                unchanged.append(told)
            } else {
                failed.append(told)
            }
        } else if wish == .submit, source.isFinal, !source.isDone {
            failed.append(Unchanged(source: source, reason: source.error?.message ?? "the post is \(source.state)"))
        } else {
            changed.append(source)
        }
    }

    /// Whether every source is in the wanted state.
    package var isFulfilled: Bool { failed.isEmpty }

    /// Success messages for the user.
    package func lines(_ look: ConsoleLook) -> [String] {
        changed.map { source in
            let files = SourceEntry.count(source.files.count, "file") + ", " + Quantity.size(source.size)
            return look.paint(wish.pastParticiple, .green) + " " + source.shownPath
                + (wish == .submit ? ": " + files : "")
        }
            + unchanged.map {
                look.paint("unchanged", .dim) + " \($0.source.shownPath): \(DisplayText.escaped($0.reason))"
            }
    }

    /// What happens next to each submitted source, one line each.
    package var prospects: [String] {
        guard wish == .submit else { return [] }
        return changed.map { source in
            let path = source.typedPath
            switch FileState(rawValue: source.state) {
            case .paused: return "the post is paused; run `outbox resume \(path)`"
            case .signedOut: return "the post waits for a token; run `outbox login`"
            case .waiting:
                let reason = source.error.map { ": " + DisplayText.escaped($0.message) } ?? ""
                return "the post waits for its next attempt\(reason); `outbox retry \(path)` tries at once"
            default:
                return
                    "the agent takes the post once nothing in it changed for 2 s; `outbox wait \(path)` waits for it"
            }
        }
    }

    /// Error messages for the user, one line each.
    package var complaints: [String] {
        failed.map { outcome in
            let path = outcome.source.shownPath
            let what = wish == .first ? "cannot move \(path) to the front" : "cannot \(wish.rawValue) \(path)"
            return "\(what): \(DisplayText.escaped(outcome.reason))"
        }
    }
}
