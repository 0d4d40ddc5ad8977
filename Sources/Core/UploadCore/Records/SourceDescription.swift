/// The content of `source.toml`.
public struct SourceDescription: Hashable, Sendable {
    /// The post's title. If empty, the post is named after its directory.
    public var title: String
    /// The post's cover, relative to the directory; nil for the first picture by name.
    public var cover: RelativePath?
    /// Whether the source waits for `submit` before its upload.
    public var isDraft: Bool

    /// Creates a description.
    public init(title: String = "", cover: RelativePath? = nil, isDraft: Bool = false) {
        self.title = title
        self.cover = cover
        self.isDraft = isDraft
    }
}
