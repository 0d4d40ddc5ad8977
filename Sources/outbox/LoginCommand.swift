import AgentKit
import ArgumentParser

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Keep a token for the server.",
        discussion: """
            Reads a bearer token from the terminal (without showing it), from stdin or from --token-file, and keeps it in \
            the state directory with mode 0600. An agent that runs uses it at once: uploads that were signed out go on. \
            OUTBOX_TOKEN and remote.token_file take precedence over it.

            Examples:
              outbox login --user anna
              outbox login --token-file ~/token
              pass show upload/token | outbox login

            Ends with 0 when the token is kept, 64 when --user can't be a name, 66 when --token-file can't be read, 77 when what was given can't be a \
            token. Whether the server takes it is seen in `outbox status`.
            """)

    @OptionGroup var common: CommonOptions

    @Option(
        help: """
            Whose token it is. What another user dropped is set aside with all that was sent, and goes on when that user \
            signs in again.
            """)
    var user: String?

    @Option(
        help: ArgumentHelp("A file to read the token from, once.", valueName: "file"), completion: .file())
    var tokenFile: String?

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let surroundings = Surroundings()
        let effective = try common.effectiveConfiguration(in: surroundings)
        if let objection = effective.tokenObjection { throw CommandFailure.objection(objection) }
        // Before anybody types a token in vain.
        if let user { try StoredSession.checked(user: user) }
        let link = try AgentLink(common)
        let text = try tokenFile.map(TokenInput.read(file:)) ?? TokenInput.read()
        let session = try StoredSession(token: BearerToken.parse(text), user: user)
        let desk = SessionDesk(link)
        let isRunning = try await desk.signIn(session)
        let precedence = await desk.precedence()

        if json {
            return try Output.standard.write(
                json: SessionReport(running: isRunning, user: user, precedence: precedence?.rawValue))
        }
        let whose = user.map { " of \(DisplayText.escaped($0))" } ?? ""
        let when = isRunning ? "the agent uses it now" : "`outbox run` will use it"
        try Output.standard.write(lines: ["the token\(whose) is kept; \(when)"])
        desk.warn(precedence, "this token is not used")
    }
}

struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Discard the token that login kept.",
        discussion: """
            Nothing is sent until there is a token again, not even to a server that wants none; everything that was sent is \
            kept, and a profile picture that waits is given up. A token from OUTBOX_TOKEN or \
            remote.token_file is not this command's business: it stays in use.

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
        try Output.standard.write(lines: ["no token is kept any more" + effect])
        desk.warn(precedence, "uploads go on with that token")
    }
}

/// What `login --json` and `logout --json` print.
private struct SessionReport: Encodable {
    /// Whether an agent was told.
    let running: Bool
    let user: String?
    /// Where a token comes from that goes before the kept one: `environment` or `token_file`.
    let precedence: String?
}
