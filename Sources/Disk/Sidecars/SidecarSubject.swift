import Reports
package import UploadCore

/// The file or source that a sidecar describes.
package enum SidecarSubject: Hashable, Sendable {
    case file(RelativePath)
    /// The source of a directory.
    case source(RelativePath)

    /// The directory of the sidecar, relative to the root of the tree of sidecars.
    var directory: RelativePath {
        switch self {
        case .file(let path): path.parent
        case .source(let directory): directory
        }
    }

    /// The base of the sidecar's name.
    var name: [UInt8] {
        switch self {
        case .file(let path): Array(path.name)
        case .source: Self.sourceName
        }
    }

    /// Whether the agent wrote this text as a sidecar of the subject, judged by its beginning.
    func owns(_ text: [UInt8]) -> Bool {
        switch self {
        case .file(let path): FileReport.isSidecar(text, of: path)
        case .source: SourceReport.isSidecar(text)
        }
    }

    /// The subject whose sidecar must give up the usual name. The name `source` is reserved for sources, so the
    /// sidecar of a file called `source` gives way.
    var displaced: SidecarSubject? {
        guard case .source(let directory) = self else { return nil }
        return .file(directory.appending(Self.sourceName))
    }

    /// Whether the sidecar may have another name than the usual one, even if the usual one is free: another sidecar
    /// may have taken the usual name and vanished since.
    var mayHaveGivenWay: Bool {
        guard case .file(let path) = self else { return false }
        return path.name.elementsEqual(Self.sourceName)
    }

    private static let sourceName = Array("source".utf8)
}

extension SidecarSubject: CustomStringConvertible {
    /// The path of the file, or of the source's directory.
    package var description: String {
        switch self {
        case .file(let path): path.description
        case .source(let directory): directory.description
        }
    }
}
