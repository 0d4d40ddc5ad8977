import Session
package import AgentConfiguration
import Remotes

/// Whether the server accepts a token, for `outbox login`. Summarises the judgement of `doctor` (`ServerFacts`) in
/// one line.
package struct TokenVerdict: Equatable, Sendable {
    /// The verdicts.
    package enum Word: String, Sendable {
        /// The server accepted the token.
        case accepted
        /// The server refused the token.
        case refused
        /// The server did not answer, or its answer does not depend on the token.
        case unknown
    }

    /// The verdict.
    package let word: Word
    /// The verdict in one line. If the token is not accepted, also what to do.
    package let message: String

    /// Time limit for the connection, and for the answer.
    private static let patience = Duration.seconds(5)

    /// Sends the server one request that changes nothing.
    ///
    /// - Returns: `nil` if the protocol has no such request.
    package static func ask(
        _ configuration: Configuration, token: String, version: String
    ) async -> TokenVerdict? {
        guard let probe = configuration.remote.kind?.probe else { return nil }
        let question = ServerQuestion(
            probe: probe, remote: configuration.remote, token: token, version: version, limit: patience)
        return await TokenVerdict(
            ServerFacts(url: configuration.remote.url, outcome: question.ask().outcome, tokenSource: .login))
    }

    init(_ facts: ServerFacts) {
        let findings = facts.findings
        let credentials = findings.first { $0.check == .credentials }
        let line = (credentials ?? findings.last).map { finding in
            [finding.message, finding.remedy].compactMap(\.self).joined(separator: "; ")
        }
        guard let credentials else {
            word = .unknown
            message = "it is not known whether the server accepts the token: \(line ?? "")"
            return
        }
        word = credentials.level == .ok ? .accepted : .refused
        message = line ?? ""
    }
}
