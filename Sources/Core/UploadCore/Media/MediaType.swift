/// The type of a file according to its first bytes.
public struct MediaType: Hashable, Sendable {
    /// The three kinds that the agent distinguishes.
    public enum Kind: String, Sendable {
        /// A picture, including camera raw.
        case image
        /// A video.
        case video
        /// Any other file; accepted only with `media_only = false`.
        case other
    }

    /// Picture, video or neither.
    public let kind: Kind
    /// The MIME type, for instance `image/jpeg`.
    public let mime: String

    /// Creates a type.
    public init(kind: Kind, mime: String) {
        self.kind = kind
        self.mime = mime
    }

    /// Creates a type from its MIME type; `nil` if that is empty.
    public init?(mime: String) {
        if mime.isEmpty { return nil }
        let kind: Kind = mime.hasPrefix("image/") ? .image : mime.hasPrefix("video/") ? .video : .other
        self.init(kind: kind, mime: mime)
    }

    /// A file that is neither picture nor video.
    public static let other = MediaType(kind: .other, mime: "application/octet-stream")
}
