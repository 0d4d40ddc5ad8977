package import AgentConfiguration
import Glibc
import LinuxSystem
package import Remotes
import Synchronization

/// Finds what proves the account to the server: access keys if the protocol uses them, otherwise the bearer token in
/// OUTBOX_TOKEN, then in `remote.token_file`, then in the file that `login` wrote.
///
/// Calls block on the disk; `SessionKeeper` supplies the credential to requests.
package final class Credentials: Sendable {
    private struct State {
        var tokenFile: String?
        var owner: Owner?
    }

    /// The account that sends the requests.
    private struct Owner {
        var name: String
        var session: SessionStore
        var onOther: @Sendable () -> Void
    }

    private let environmentToken: String?
    private let storedToken: String
    /// Whether a credential may be sent to this server (`Configuration.Remote.allowsToken`).
    let mayTravel: Bool
    private let accessKeys: AccessKeySearch?
    private let state: Mutex<State>

    /// Creates a credential source.
    ///
    /// - Parameters:
    ///   - environmentToken: value of OUTBOX_TOKEN, if it is set.
    ///   - tokenFile: `remote.token_file`, if it is set.
    ///   - stateDirectory: where `login` stores a token.
    ///   - mayTravel: whether a credential may be sent to this server.
    ///   - accessKeys: finds the access keys, if the protocol uses keys. Then no token counts.
    package init(
        environmentToken: String?, tokenFile: String?, stateDirectory: String, mayTravel: Bool = false,
        accessKeys: AccessKeySearch? = nil
    ) {
        self.accessKeys = accessKeys
        self.mayTravel = mayTravel
        self.environmentToken = environmentToken.flatMap(BearerToken.firstLine(of:))
        storedToken = stateDirectory + "/token"
        state = Mutex(State(tokenFile: tokenFile))
    }

    /// Creates a credential source for the protocol and the files of a configuration.
    package convenience init(_ configuration: Configuration, environment: [String: String]) {
        let remote = configuration.remote
        self.init(
            environmentToken: environment["OUTBOX_TOKEN"], tokenFile: remote.tokenFile,
            stateDirectory: configuration.state, mayTravel: remote.allowsToken,
            accessKeys: remote.protocol.usesAccessKeys ? AccessKeySearch(remote, environment: environment) : nil)
    }

    /// Whether the protocol uses access keys, not tokens.
    var areKeys: Bool { accessKeys != nil }

    /// Where the agent looks for access keys; nil if the protocol uses a token.
    package var keyPlace: String? { accessKeys?.source }

    /// Returns the credential to send; `nil` if there is none, or if it may not be sent to this server.
    package func credential() -> Credential? { mayTravel ? found : nil }

    /// Whether there is a credential, also one that may not be sent.
    var isPresent: Bool { found != nil }

    private var found: Credential? {
        guard let accessKeys else { return bearerToken().map(Credential.bearer) }
        return (try? accessKeys.find()).map(Credential.keys)
    }

    /// Names another file to look in first.
    func setTokenFile(_ path: String?) {
        state.withLock { $0.tokenFile = path }
    }

    /// Sets the account that sends the requests. If the only token is one that `login` stored for another account, no
    /// token is used and the agent restarts for that account.
    func belong(to account: Account) {
        let owner = Owner(name: account.name, session: account.session, onOther: account.change)
        state.withLock { $0.owner = owner }
    }

    /// Returns the token in use, also one that may not be sent to this server; `nil` if there is none.
    package func bearerToken() -> String? {
        guard accessKeys == nil else { return nil }
        if let environmentToken { return environmentToken }
        if let file = state.withLock({ $0.tokenFile }), let token = token(in: file) { return token }
        guard let token = token(in: storedToken) else { return nil }
        if let owner = state.withLock({ $0.owner }), let user = owner.session.load()?.user, user != owner.name {
            owner.onOther()
            return nil
        }
        return token
    }

    /// Where the token in use comes from; `nil` without a token.
    package var origin: TokenOrigin? {
        guard accessKeys == nil else { return nil }
        if environmentToken != nil { return .environment }
        if let file = state.withLock({ $0.tokenFile }), token(in: file) != nil { return .tokenFile }
        return token(in: storedToken) != nil ? .login : nil
    }

    private func token(in path: String) -> String? {
        guard let status = try? FileStatus(path: path), status.kind == .regular else { return nil }
        return Self.read(path).flatMap(BearerToken.firstLine(of:))
    }

    private static func read(_ path: String) -> String? {
        guard let file = try? SharedDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK) else { return nil }
        var bytes = [UInt8](repeating: 0, count: BearerToken.longest + 2)
        let count = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        return String(validating: bytes.prefix(count), as: UTF8.self)
    }
}

extension EffectiveConfiguration {
    /// Returns why the agent must not start: a token exists that must not be sent to this server; nil if all is well.
    ///
    /// - Parameter environment: The environment variables, of which `OUTBOX_TOKEN` matters.
    package func objectionToToken(environment: [String: String]) -> ConfigurationError? {
        let credentials = Credentials(configuration, environment: environment)
        return credentials.bearerToken() == nil ? nil : tokenObjection
    }
}

/// Where a bearer token comes from. The first origin that has a token wins.
package enum TokenOrigin: String, CaseIterable, Sendable {
    /// OUTBOX_TOKEN in the agent's environment.
    case environment
    /// `remote.token_file`.
    case tokenFile = "token_file"
    /// The file that `outbox login` writes.
    case login

    /// Finds where the token in use comes from; `nil` without a token. Reads files.
    package init?(environment: [String: String], configuration: Configuration) {
        let isThere: (TokenOrigin) -> Bool = { origin in
            let credentials = Credentials(
                environmentToken: origin == .environment ? environment["OUTBOX_TOKEN"] : nil,
                tokenFile: origin == .tokenFile ? configuration.remote.tokenFile : nil,
                stateDirectory: origin == .login ? configuration.state : "/nonexistent")
            return credentials.bearerToken() != nil
        }
        guard let origin = Self.allCases.first(where: isThere) else { return nil }
        self = origin
    }
}
