import HTTPTypes
import Synchronization
public import Transport
import URLs
public import UploadCore

/// Signs requests for S3 (``SigV4``) with access keys.
public final class SigV4Authorizer: Authorizer {
    private let credentials: any CredentialSource
    private let origin: WebOrigin?
    private let signer: SigV4
    private let clock: ServerClock
    /// The key last used.
    private let lastKey = Mutex<(secret: String, day: String, key: [UInt8])?>(nil)
    /// Hides the session token last used.
    private let lastMask = Mutex(TokenMask(token: nil))

    /// Creates an authorizer.
    ///
    /// - Parameters:
    ///   - credentials: supplies the access keys.
    ///   - url: the bucket's URL; signatures and session tokens go to no other origin.
    ///   - region: the region that the signatures name.
    ///   - clock: the time of the signatures.
    public init(_ credentials: any CredentialSource, url: String, region: String, clock: ServerClock) {
        self.credentials = credentials
        origin = WebOrigin(url)
        signer = SigV4(region: region)
        self.clock = clock
    }

    /// Adds the date, the payload's digest, the session token and the signature. Without `payload`, the signature does not
    /// cover the body.
    public func authorize(
        _ request: inout TransportRequest, payload: String?
    ) async throws(RemoteFailure) -> TokenMask {
        guard case .keys(let keys) = await credentials.credential() else {
            let place =
                credentials.place.map { "\($0) has none" } ?? "set remote.access_key_file and remote.secret_key_file"
            let message = "there are no access keys for S3: \(place)"
            throw .signedOut(FileError(code: "signed_out", message: message, retryable: true))
        }
        guard let url = WebURL(request.url) else {
            throw .wrongURL("remote.url is no http or https URL")
        }
        let time = SigV4.Time(clock.now)
        let payload = payload ?? SigV4.unsignedPayload
        request.credentialsOrigin = origin
        do {
            try request.headers.add(S3Header.contentSHA256.rawName, payload)
            try request.headers.add(S3Header.date.rawName, time.stamp)
            if let token = keys.sessionToken { try request.headers.add(S3Header.securityToken.rawName, token) }
            let canonical = SigV4.Request(
                method: request.method.rawValue, url: url,
                headers: request.headers.map { (name: $0.name.canonicalName, value: $0.value) }, payload: payload)
            let key = key(secret: keys.secret, day: time.day)
            let proof = signer.authorization(canonical, at: time, accessKeyID: keys.id, key: key)
            try request.headers.add("Authorization", proof)
        } catch {
            let message = "the access keys can't be sent: \(error); correct the keys"
            throw .permanent(FileError(code: "bad_request", message: message, retryable: false))
        }
        return lastMask.withLock { mask in
            if mask.token != keys.sessionToken { mask = TokenMask(token: keys.sessionToken) }
            return mask
        }
    }

    private func key(secret: String, day: String) -> [UInt8] {
        lastKey.withLock { last in
            if let last, last.secret == secret, last.day == day { return last.key }
            let key = signer.signingKey(secret: secret, day: day)
            last = (secret, day, key)
            return key
        }
    }
}
