/// The keys that sign the requests of an S3 account.
public struct S3Credentials: Hashable, Sendable {
    /// The id of the key pair. Not secret.
    public var accessKeyID: String
    /// The secret key. Never sent.
    public var secretAccessKey: String
    /// The token of temporary credentials, sent with each request; nil for permanent ones.
    public var sessionToken: String?

    /// Creates credentials.
    public init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
    }
}
