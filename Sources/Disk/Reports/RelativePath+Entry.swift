import FoundationEssentials
package import UploadCore

extension SubjectEntry {
    /// The path in the outbox; nil if the entry contains no valid path.
    package var relativePath: RelativePath? { RelativePath(entryPath: path, bytes: path_bytes) }
}

extension RelativePath {
    /// Reads the `path` and the `path_bytes` of an entry.
    fileprivate init?(entryPath: String, bytes: String?) {
        guard let bytes else {
            self.init(entryPath)
            return
        }
        guard let data = Data(base64Encoded: bytes) else { return nil }
        self.init(Array(data))
    }
}
