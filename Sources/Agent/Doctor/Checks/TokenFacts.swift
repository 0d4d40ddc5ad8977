import Text

/// The places searched for a bearer token, and their contents.
struct TokenFacts: Equatable, Sendable {
    /// The sources of a token, in the order of the search.
    enum Source: Equatable, Sendable {
        case environment
        case file(String)
        case login

        var description: String {
            switch self {
            case .environment: "OUTBOX_TOKEN"
            case .file(let path): "token_file \(path)"
            case .login: "`outbox login`"
            }
        }
    }

    /// A token file.
    struct File: Equatable, Sendable {
        enum Content: Equatable, Sendable {
            case missing
            case unreadable(String)
            /// The file is empty, or its first line is invalid in a header.
            case noToken
            case token
        }

        var path: String
        var content: Content
        /// Permission bits; 0 without a file.
        var permissions: UInt32 = 0
    }

    /// Whether OUTBOX_TOKEN holds a valid token; nil if the variable is not set.
    var environmentHoldsToken: Bool?
    /// `remote.token_file`.
    var tokenFile: File?
    /// The token stored by `login`.
    var stored: File
    /// Whether a token may be sent to the server.
    var mayTravel: Bool
    /// `remote.url`.
    var url: String

    /// The source the agent takes the token from; nil if there is no token.
    var source: Source? {
        if environmentHoldsToken == true { return .environment }
        if let tokenFile, tokenFile.content == .token { return .file(tokenFile.path) }
        return stored.content == .token ? .login : nil
    }

    var findings: [Finding] {
        let troubles = [environmentTrouble, travelTrouble, tokenFile.flatMap(trouble(of:)), storedTrouble]
            .compactMap(\.self)
        let open = [tokenFile, stored].compactMap(\.self).compactMap(Self.openness)
        let found = troubles + open
        guard found.isEmpty else { return found }
        guard let source else {
            return [
                Finding(
                    .token, .note, "none; requests are sent without credentials",
                    remedy: "run `outbox login` or set remote.token_file if the server requires a token")
            ]
        }
        return [Finding(.token, .ok, "from \(source.description)")]
    }

    private var environmentTrouble: Finding? {
        guard environmentHoldsToken == false else { return nil }
        return Finding(
            .token, .warning, "OUTBOX_TOKEN is set but holds no token (a token is one word of visible ASCII)",
            remedy: "unset OUTBOX_TOKEN, or set it to the token")
    }

    private var travelTrouble: Finding? {
        guard !mayTravel, let source else { return nil }
        return Finding(
            .token, .stop,
            "the token (\(source.description)) is not sent over plain http, so the agent refuses to start",
            remedy: "use https:// in remote.url, or set remote.insecure_http = true if you trust the network to \(url)")
    }

    /// The finding for a configured token file without a token. The user asked for a token, so the agent must not rely
    /// on a server that needs none.
    private func trouble(of file: File) -> Finding? {
        let isReplaced = environmentHoldsToken == true || stored.content == .token
        let level: Finding.Level = isReplaced ? .warning : .stop
        switch file.content {
        case .token: return nil
        case .missing:
            return Finding(
                .token, level, "token_file \(file.path) does not exist",
                remedy: "write the token into it (`umask 077; cat > \(file.path)`), or correct remote.token_file")
        case .unreadable(let reason):
            return Finding(
                .token, level, "token_file \(file.path) can't be read: \(reason)",
                remedy: "make it readable for the agent's user (`chmod 600`, `chown`)")
        case .noToken:
            return Finding(
                .token, level, "token_file \(file.path) holds no token in its first line",
                remedy: "write the token into it: one word, on the first line")
        }
    }

    private var storedTrouble: Finding? {
        guard case .unreadable(let reason) = stored.content else { return nil }
        return Finding(
            .token, source == nil ? .stop : .warning, "the stored token \(stored.path) can't be read: \(reason)",
            remedy: "make it readable for the agent's user, or remove it and sign in again")
    }

    private static func openness(_ file: File) -> Finding? {
        guard file.content == .token, file.permissions & 0o077 != 0 else { return nil }
        let who = file.permissions & 0o007 != 0 ? "everybody on this machine" : "its group"
        return Finding(
            .token, .warning, "\(file.path) is open to \(who) (mode \(FileMode.shown(file.permissions)))",
            remedy: "chmod 600 \(file.path)")
    }
}
