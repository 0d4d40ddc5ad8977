import FoundationEssentials
package import UploadCore

extension SubjectEntry {
    /// Makes the entry that a client reads from the answer about a report.
    ///
    /// - Throws: DecodingError, if the entry and the answer have different members.
    package init(_ report: some SubjectReport) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(report.controlText()))
    }

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

    /// The bytes in base64 if they are not UTF-8; nil otherwise.
    package var base64IfNotUTF8: String? { isUTF8 ? nil : Data(bytes).base64EncodedString() }
}
