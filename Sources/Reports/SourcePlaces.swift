package import UploadCore

/// Relates a source's directory and its `source.toml`.
package enum SourcePlaces {
    /// Returns the directory that a path, as its `source.toml`, makes a source.
    ///
    /// - Returns: `nil` for any other path, and for `source.toml` in the outbox's root: the outbox itself can't be a
    ///   source.
    package static func directory(of path: RelativePath) -> RelativePath? {
        guard path.name.elementsEqual(SourceReport.descriptionName.utf8), path.parent != .root else { return nil }
        return path.parent
    }

    /// Returns the path of a directory's `source.toml`.
    package static func description(of directory: RelativePath) -> RelativePath {
        directory.appending(SourceReport.descriptionName.utf8)
    }
}
