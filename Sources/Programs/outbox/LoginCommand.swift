import AgentConfiguration
import Text
import ArgumentParser
import Doctor
import Session
import Versions

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Store a token for the server.",
        discussion: """
            Reads a bearer token from the terminal (without echo), from stdin or from --token-file, and stores it in \
            the state directory with mode 0600. A running agent uses the token at once, and uploads that were signed \
            out continue. With --user, it returns once the agent has switched to that user. OUTBOX_TOKEN and remote.token_file take \
            precedence over the stored token.

            The command also asks the server whether it accepts the token, for 5 s at most. The token is stored \
            whatever the server answers.

            Examples:
              outbox login --user anna
              outbox login --token-file ~/token
              pass show upload/token | outbox login

            Exit status:
              0   the token is stored
              64  --user is not a valid user name
              66  --token-file can't be read
              75  the agent did not restart for --user in time
              77  the input is not a valid token
            """)

    @OptionGroup var common: CommonOptions

    @Option(
        help: """
            The user that the token belongs to. Files of another user are set aside with their progress until that \
            user signs in again.
            """)
    var user: String?

    @Option(
        help: ArgumentHelp("Read the token from this file, once.", valueName: "file"), completion: .file())
    var tokenFile: String?

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let surroundings = Surroundings()
        let effective = try common.effectiveConfiguration(in: surroundings)
        if effective.configuration.remote.protocol.usesAccessKeys { throw SessionError.keysOnly }
        if let objection = effective.tokenObjection { throw CommandFailure.objection(objection) }
        // Check the user before asking for a token.
        if let user { try StoredSession.checked(user: user) }
        let link = try AgentLink(common)
        let text = try tokenFile.map(TokenInput.read(file:)) ?? TokenInput.read()
        let session = try StoredSession(token: BearerToken.parse(text), user: user)
        let desk = SessionDesk(link)
        let taker = try await desk.signIn(session)
        async let asked = TokenVerdict.ask(
            link.configuration, token: session.token, version: ProgramVersion.current)
        if taker == .returning { try await desk.waitForReturn(of: user) }
        let isRunning = taker != .next
        let verdict = await asked
        let precedence = await desk.precedence()

        if json {
            return try Output.standard.write(
                json: SessionReport(
                    running: isRunning, user: user, precedence: precedence?.rawValue, server: verdict?.word.rawValue,
                    answer: verdict?.message))
        }
        let whose = user.map { " of \(DisplayText.escaped($0))" } ?? ""
        let when = isRunning ? "the agent uses it now" : "`outbox run` will use it"
        try Output.standard.write(lines: ["the token\(whose) is stored; \(when)"])
        switch verdict?.word {
        case .accepted: try Output.standard.write(lines: [verdict?.message ?? ""])
        case .refused, .unknown: Output.error.attempt("outbox: \(DisplayText.escaped(verdict?.message ?? ""))")
        case nil: break
        }
        desk.warn(precedence, "this token is not used")
    }
}

struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Discard the token that `outbox login` stored.",
        discussion: """
            Nothing is sent until there is a token again, even if the server needs none. Uploads keep their progress; \
            a profile picture that still waits is cancelled. A token from OUTBOX_TOKEN or remote.token_file stays in \
            use: this command does not change it.

            Example:
              outbox logout
            """)

    @OptionGroup var common: CommonOptions

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let desk = SessionDesk(try AgentLink(common))
        let isRunning = try await desk.signOut()
        let precedence = await desk.precedence()
        if json {
            return try Output.standard.write(
                json: SessionReport(running: isRunning, user: nil, precedence: precedence?.rawValue))
        }
        let effect = precedence == nil ? "; nothing is sent until `outbox login`" : ""
        try Output.standard.write(lines: ["no token is stored any more" + effect])
        desk.warn(precedence, "uploads continue with that token")
    }
}

/// The output of `login --json` and `logout --json`.
private struct SessionReport: Encodable {
    /// Whether a running agent received the request.
    let running: Bool
    let user: String?
    /// The origin of a token that takes precedence over the stored one: `environment` or `token_file`.
    let precedence: String?
    /// The server's verdict on the token (`login` only): `accepted`, `refused` or `unknown`.
    var server: String?
    /// The verdict in words.
    var answer: String?
}
