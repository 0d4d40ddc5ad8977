import UploadCore

/// Which files make a directory a source.
enum SourcePlaces {
    /// The directory that a path, as the description of a source, makes one.
    ///
    /// - Returns: nil for any other path, and for `source.toml` at the outbox's root: the outbox itself can't be a source.
    static func directory(of path: RelativePath) -> RelativePath? {
        guard path.name.elementsEqual(SourceReport.descriptionName.utf8), path.parent != .root else { return nil }
        return path.parent
    }

    /// The description of a directory's source.
    static func description(of directory: RelativePath) -> RelativePath {
        directory.appending(SourceReport.descriptionName.utf8)
    }
}
