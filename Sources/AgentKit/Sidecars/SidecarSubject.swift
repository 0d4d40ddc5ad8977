import UploadCore

/// What a sidecar is about: a file, or the source a directory is.
enum SidecarSubject: Hashable, Sendable {
    case file(RelativePath)
    /// The source of a directory.
    case source(RelativePath)

    /// The directory its sidecar stands in, relative to the root of the tree of sidecars.
    var directory: RelativePath {
        switch self {
        case .file(let path): path.parent
        case .source(let directory): directory
        }
    }

    /// The name that the sidecar's name is made from.
    var name: [UInt8] {
        switch self {
        case .file(let path): Array(path.name)
        case .source: Self.sourceName
        }
    }

    /// Whether a text is a sidecar that this program wrote for it, as its beginning tells.
    func owns(_ text: [UInt8]) -> Bool {
        switch self {
        case .file(let path): FileReport.isSidecar(text, of: path)
        case .source: SourceReport.isSidecar(text)
        }
    }

    /// Whose sidecar gives way to this one where both want the usual name: that of a file called `source` to that of the
    /// source, for which the name is reserved.
    var displaced: SidecarSubject? {
        guard case .source(let directory) = self else { return nil }
        return .file(directory.appending(Self.sourceName))
    }

    /// Whether its sidecar may stand under another name than the usual one, though that is free: the one it gave way to
    /// may be gone.
    var mayHaveGivenWay: Bool {
        guard case .file(let path) = self else { return false }
        return path.name.elementsEqual(Self.sourceName)
    }

    private static let sourceName = Array("source".utf8)
}

extension SidecarSubject: CustomStringConvertible {
    /// The path of the file, or of the source's directory.
    var description: String {
        switch self {
        case .file(let path): path.description
        case .source(let directory): directory.description
        }
    }
}
