/// What the server knows an upload by: everything that a request about the upload must name.
public struct RemoteHandle: Hashable, Sendable {
    /// The server's id of the upload. fileSection: the file id. tus: the URL of the upload. S3: the id of the multipart
    /// upload. Empty if one request creates the upload and sends the whole content (S3, tus).
    public var id: String
    /// The key of the object that the upload becomes, where the agent chooses it (S3); nil elsewhere.
    public var object: String?

    /// Creates a handle.
    public init(id: String, object: String? = nil) {
        self.id = id
        self.object = object
    }

    /// The name that reports show: the object's key, or the id where the agent chooses no key.
    public var name: String { object ?? id }
    /// Whether the server may hold parts of an upload that can't go on: a multipart upload of S3 keeps its parts until it
    /// is aborted.
    var mayHoldParts: Bool { object != nil && !id.isEmpty }
    /// ``name``; nil if the server has not named the upload yet.
    public var knownName: String? { name.isEmpty ? nil : name }
}
