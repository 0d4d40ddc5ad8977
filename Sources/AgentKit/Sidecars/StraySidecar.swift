import UploadCore

/// A sidecar or temporary file of this program for which no file stands in the outbox.
struct StraySidecar: Equatable, Sendable {
    /// The directory it stands in, relative to the root of the tree of sidecars.
    var directory: RelativePath
    /// Its own name.
    var name: [UInt8]
    /// What it is about, by its place and its text; nil for a temporary file.
    var subject: SidecarSubject?
    /// Whether it says of a file at this very path that it is still on its way.
    var isUnfinished = false
}

/// Which sidecars of a directory must be read to know whose they are. Most names tell it.
struct SidecarListing {
    /// Names that are neither sidecars nor temporary files.
    private let files: Set<[UInt8]>
    private(set) var temporaries: [[UInt8]] = []
    /// Sidecars of which no file of the directory bears the name.
    private(set) var unexplained: [[UInt8]] = []

    /// Sorts the names of one directory.
    ///
    /// - Parameters:
    ///   - sidecars: names of the directory that sidecars stand in.
    ///   - files: names of the outbox's directory; the same where sidecars stand beside their files.
    init(sidecars: [[UInt8]], files: [[UInt8]]) {
        self.files = Set(files.lazy.filter { !SidecarName.isSidecar($0) })
        var longNames: Set<[UInt8]>?
        for name in sidecars {
            if SidecarName.isTemporary(name) {
                temporaries.append(name)
            } else if SidecarName.isSidecar(name), !self.files.contains(SidecarName.subject(of: name)) {
                if SidecarName.isShortened(name) {
                    let expected = longNames ?? Self.shortened(self.files)
                    longNames = expected
                    if expected.contains(name) { continue }
                }
                if name.elementsEqual(SidecarName.name(for: Array("source".utf8))),
                    self.files.contains(Array("source.toml".utf8))
                {
                    continue
                }
                unexplained.append(name)
            }
        }
    }

    /// Whether a file of this name stands in the outbox's directory.
    func holds(_ name: [UInt8]) -> Bool { files.contains(name) }

    private static func shortened(_ files: Set<[UInt8]>) -> Set<[UInt8]> {
        Set(files.lazy.filter { SidecarName.isLong($0) }.map { SidecarName.name(for: $0) })
    }
}
