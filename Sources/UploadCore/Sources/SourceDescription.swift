/// What `source.toml` says.
public struct SourceDescription: Hashable, Sendable {
    /// The post's title; empty where the file has none: the directory's name serves then.
    public var title: String
    /// The file that stands for the post, relative to the directory; nil: the first picture by name.
    public var cover: RelativePath?
    /// Whether the source is kept and not uploaded until it is submitted.
    public var isDraft: Bool

    /// Describes a source.
    public init(title: String = "", cover: RelativePath? = nil, isDraft: Bool = false) {
        self.title = title
        self.cover = cover
        self.isDraft = isDraft
    }
}
