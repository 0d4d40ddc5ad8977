/// The recipes of a configuration, by type of file.
public struct Recipes: Hashable, Sendable {
    /// How pictures are encoded anew; nil keeps them.
    public var pictures: Recipe.Conversion?
    /// How videos are encoded anew; nil keeps them.
    public var videos: Recipe.Conversion?
    /// What is removed from both; nil removes nothing.
    public var removal: Recipe.Removal?

    /// Creates recipes. Without arguments, everything is uploaded as it is.
    public init(
        pictures: Recipe.Conversion? = nil, videos: Recipe.Conversion? = nil, removal: Recipe.Removal? = nil
    ) {
        self.pictures = pictures
        self.videos = videos
        self.removal = removal
    }

    /// Returns the recipe for files of a type. It is empty for files that are neither pictures nor videos.
    public func recipe(for type: MediaType) -> Recipe {
        switch type.kind {
        case .image: Recipe(conversion: pictures, removal: removal)
        case .video: Recipe(conversion: videos, removal: removal)
        case .other: Recipe()
        }
    }

    /// Differs between recipes that differ; empty if there are none.
    public var fingerprint: [UInt8] {
        let texts = [MediaType.Kind.image, .video].map { recipe(for: MediaType(kind: $0, mime: "")).text }
        return texts.allSatisfy(\.isEmpty) ? [] : Array(texts.joined(separator: "\n").utf8)
    }

    /// Whether a file was judged by the present recipe for its type.
    func agree(with record: DropRecord) -> Bool {
        guard let type = record.type else { return true }
        return record.product?.recipe ?? "" == recipe(for: type).text
    }
}
