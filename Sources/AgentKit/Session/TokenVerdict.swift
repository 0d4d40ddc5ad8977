/// Whether the server takes a token, as `outbox login` tells it: the judgement of `doctor` (`ServerFacts`) in one line.
public struct TokenVerdict: Equatable, Sendable {
    /// What the server made of the token.
    public enum Word: String, Sendable {
        /// The server let us in.
        case accepted
        /// The server refused the token.
        case refused
        /// The server could not be asked, or its answer says nothing of the token.
        case unknown
    }

    /// What the server made of the token.
    public let word: Word
    /// The same in one line; with what to do where the token is not accepted.
    public let message: String

    /// How long the server may take to connect, and how long to answer.
    private static let patience = Duration.seconds(5)

    /// Asks the server one question that changes nothing.
    ///
    /// - Returns: nil where the protocol has no such question.
    public static func ask(
        _ configuration: Configuration, token: String, version: String
    ) async -> TokenVerdict? {
        guard configuration.remote.protocol == .filesection else { return nil }
        let question = ServerQuestion(
            remote: configuration.remote, token: token, version: version, limit: patience)
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
            message = "whether the server accepts the token is not known: \(line ?? "")"
            return
        }
        word = credentials.level == .ok ? .accepted : .refused
        message = line ?? ""
    }
}
