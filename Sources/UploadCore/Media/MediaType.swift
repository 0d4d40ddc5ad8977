/// What a file is, as its first bytes tell.
public struct MediaType: Hashable, Sendable {
    /// The three kinds the agent tells apart.
    public enum Kind: String, Sendable {
        /// A picture, camera raw included.
        case image
        /// A video.
        case video
        /// Anything else; taken only with `media_only = false`.
        case other
    }

    /// Picture, video or neither.
    public let kind: Kind
    /// MIME type, for instance `image/jpeg`.
    public let mime: String

    /// Puts a type together.
    public init(kind: Kind, mime: String) {
        self.kind = kind
        self.mime = mime
    }

    /// A file that is neither picture nor video.
    public static let other = MediaType(kind: .other, mime: "application/octet-stream")
}
