import HTTPTypes
import Synchronization
public import Transport
import URLs
public import UploadCore

/// What proves the account to a server.
public enum Credential: Equatable, Sendable {
    /// A bearer token (RFC 6750), which each request carries.
    case bearer(String)
    /// Access keys, which sign each request.
    case keys(AccessKeys)
}

/// The keys of an S3 account.
public struct AccessKeys: Equatable, Sendable {
    /// The access key id; each request carries it.
    public var id: String
    /// The secret access key; never leaves this machine.
    public var secret: String
    /// The token of temporary keys, which each request carries; nil for permanent keys.
    public var sessionToken: String?

    /// Creates keys.
    public init(id: String, secret: String, sessionToken: String? = nil) {
        self.id = id
        self.secret = secret
        self.sessionToken = sessionToken
    }
}

/// Supplies the present credential.
public protocol CredentialSource: Sendable {
    /// Returns the credential to use, or nil if there is none. Called for each request, so it must be quick. If it reads
    /// a file, it must not do so on the cooperative pool.
    func credential() async -> Credential?

    /// Where the credential comes from, for messages; nil if there is no fixed place.
    var place: String? { get }
}

extension CredentialSource {
    /// No fixed place.
    public var place: String? { nil }
}

/// Proves the account to a server.
public protocol Authorizer: Sendable {
    /// Adds to a request what proves the account, and sets the only origin that may get it.
    ///
    /// - Parameters:
    ///   - request: complete but for the proof: a signature covers method, URL and headers.
    ///   - payload: the SHA-256 of the body in hexadecimal, for protocols that sign it; nil if the proof ignores the body.
    /// - Returns: hides the secrets of the request in texts of the reply.
    /// - Throws: `.signedOut` if the protocol needs a credential and there is none; `.permanent` if the request cannot
    ///   carry the proof.
    func authorize(_ request: inout TransportRequest, payload: String?) async throws(RemoteFailure) -> TokenMask
}

/// Adds the bearer token (RFC 6750, section 2.1). Without a token, requests go without.
public final class BearerAuthorizer: Authorizer {
    private let credentials: any CredentialSource
    private let origin: WebOrigin?
    /// The token last used, prepared once.
    private let last = Mutex<(mask: TokenMask, header: String?)>((TokenMask(token: nil), nil))

    /// Creates an authorizer.
    ///
    /// - Parameters:
    ///   - credentials: supplies the token.
    ///   - url: the server's configured URL; the token goes to no other origin.
    public init(_ credentials: any CredentialSource, url: String) {
        self.credentials = credentials
        origin = WebOrigin(url)
    }

    /// Adds the field `Authorization`.
    public func authorize(
        _ request: inout TransportRequest, payload: String?
    ) async throws(RemoteFailure) -> TokenMask {
        var token: String?
        if case .bearer(let found) = await credentials.credential() { token = found }
        let (mask, header) = last.withLock { last in
            if last.mask.token != token { last = (TokenMask(token: token), token.map { "Bearer \($0)" }) }
            return last
        }
        request.credentialsOrigin = origin
        guard let header else { return mask }
        do {
            try request.headers.add("Authorization", header)
        } catch {
            let message = "the token can't be sent: \(mask.hide(in: "\(error)")); correct the token"
            throw .permanent(FileError(code: "bad_request", message: message, retryable: false))
        }
        return mask
    }
}
