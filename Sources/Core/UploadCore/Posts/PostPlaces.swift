/// Relates the directory of a post and its `source.toml`.
package enum PostPlaces {
    /// The name of the file that makes a directory a post.
    package static let descriptionName = "source.toml"

    /// Returns the directory that a path, as its `source.toml`, makes a post.
    ///
    /// - Returns: nil for any other path, and for `source.toml` in the outbox's root: the outbox itself can't be a post.
    package static func directory(of path: RelativePath) -> RelativePath? {
        guard path.name.elementsEqual(descriptionName.utf8), path.parent != .root else { return nil }
        return path.parent
    }

    /// Returns the path of a directory's `source.toml`.
    package static func description(of directory: RelativePath) -> RelativePath {
        directory.appending(descriptionName.utf8)
    }
}
