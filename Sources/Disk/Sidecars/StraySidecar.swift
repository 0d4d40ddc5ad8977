import Intake
import UploadCore

/// A sidecar or temporary file of the agent whose file does not exist in the outbox.
package struct StraySidecar: Equatable, Sendable {
    /// The directory of the sidecar, relative to the root of the tree of sidecars.
    var directory: RelativePath
    /// The file name of the sidecar.
    var name: [UInt8]
    /// The described file or source, judged by place and text; `nil` for a temporary file.
    package var subject: SidecarSubject?
    /// Whether the sidecar reports an upload under way for the file at this very path.
    package var isUnfinished = false
}

/// Finds the sidecars in a directory that must be read to learn their owners. For most sidecars the name suffices.
struct SidecarListing {
    /// Names that are neither sidecars nor temporary files.
    private let files: Set<[UInt8]>
    private(set) var temporaries: [[UInt8]] = []
    /// Sidecars whose names match no file of the directory.
    private(set) var unexplained: [[UInt8]] = []
    /// Files without a sidecar of the usual name.
    private(set) var bare: [[UInt8]] = []

    /// Sorts the names of one directory into files, temporary files and unexplained sidecars.
    ///
    /// - Parameters:
    ///   - sidecars: names in the directory of the sidecars.
    ///   - files: names in the outbox's directory. Equal to `sidecars` if sidecars stand beside their files.
    init(sidecars: [[UInt8]], files: [[UInt8]]) {
        self.files = Set(files.lazy.filter { !SidecarName.isSidecar($0[...]) })
        var longNames: Set<[UInt8]>?
        var explained: Set<[UInt8]> = []
        for name in sidecars {
            if SidecarName.isTemporary(name[...]) {
                temporaries.append(name)
            } else if SidecarName.isSidecar(name[...]) {
                if explains(name, &longNames) { explained.insert(name) } else { unexplained.append(name) }
            }
        }
        if explained.count < self.files.count {
            bare = self.files.filter { !explained.contains(SidecarName.name(for: $0)) }
        }
    }

    /// Whether a file of the directory explains a sidecar's name.
    private func explains(_ name: [UInt8], _ longNames: inout Set<[UInt8]>?) -> Bool {
        if files.contains(SidecarName.subject(of: name)) { return true }
        if SidecarName.isShortened(name) {
            let expected = longNames ?? Self.shortened(files)
            longNames = expected
            if expected.contains(name) { return true }
        }
        return name.elementsEqual(SidecarName.name(for: Array("source".utf8)))
            && files.contains(Array("source.toml".utf8))
    }

    /// Whether the outbox's directory contains a file with this name.
    func holds(_ name: [UInt8]) -> Bool { files.contains(name) }

    private static func shortened(_ files: Set<[UInt8]>) -> Set<[UInt8]> {
        Set(files.lazy.filter { SidecarName.isLong($0) }.map { SidecarName.name(for: $0) })
    }
}
