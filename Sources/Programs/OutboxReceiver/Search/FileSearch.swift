import SystemPackage

/// Answers from the records of a receiver whether a file arrived. Only reads, so the receiver may run meanwhile.
public struct FileSearch {
    private let root: String
    private let pattern: NamePattern
    private let user: String?
    private let links: Links
    private let readsContents: Bool

    /// Returns nil if `name` is no name of a file.
    ///
    /// - Parameters:
    ///   - root: The directory of the receiver.
    ///   - name: The name of a file or the end of its path, with wildcards.
    ///   - user: Searches the files of this user only; nil: of all.
    ///   - publicURL: The base of links; nil: links are paths.
    ///   - readsContents: Whether to read the bytes of all found files and to compare their digests.
    public init?(root: String, name: String, user: String?, publicURL: String?, readsContents: Bool) {
        guard let pattern = NamePattern(name) else { return nil }
        self.root = root
        self.pattern = pattern
        self.user = user
        links = publicURL.map { Links(publicURL: $0) } ?? Links(prefix: "")
        self.readsContents = readsContents
    }

    /// Writes a line for each file, the newest first.
    ///
    /// - Parameters:
    ///   - asJSON: Whether the lines are JSON objects.
    ///   - write: Receives each line without its end.
    /// - Returns: The number of files.
    public func run(asJSON: Bool, _ write: (String) -> Void) throws(SearchFailure) -> Int {
        do throws(Errno) {
            if let folder = try Folder.existing(at: root), let objects = try ObjectStore(reading: folder),
                try Journal.exists(in: folder)
            {
                return try search(folder, objects, asJSON: asJSON, write)
            }
        } catch {
            throw .unreadable("cannot read the storage in \(root): \(error)")
        }
        throw .noRoot("\(root) is not the root of a receiver: it has no objects/ or no journal")
    }

    private func search(
        _ folder: Folder, _ objects: ObjectStore, asJSON: Bool, _ write: (String) -> Void
    ) throws(Errno) -> Int {
        let contents = try JournalSearch.contents(in: folder, pattern, user: user)
        let paths = try PresentPaths(in: folder, objects: objects, pattern: pattern).paths(of: contents)
        let files = contents.compactMap { content -> FoundFile? in
            let present = paths[content.token]
            guard pattern.matches(content) || present.map(pattern.matches) == true else { return nil }
            let recorded = content.paths.all.last(where: pattern.matches) ?? content.paths.all.last
            return FoundFile(
                content: content, path: present ?? recorded.map { String($0) } ?? content.name,
                url: links.file(content))
        }
        let widths = asJSON ? [] : FoundFile.widths(files)
        for file in files {
            let state = try state(of: file.content, objects)
            write(asJSON ? String(decoding: file.json(state).bytes, as: UTF8.self) : file.line(state, widths: widths))
        }
        return files.count
    }

    private func state(of content: Content, _ objects: ObjectStore) throws(Errno) -> FoundFile.State {
        guard try objects.status(of: content.object) != nil else { return .missing }
        guard objects.holds(content) else { return .damaged }
        guard readsContents else { return .there }
        do throws(Errno) {
            return try objects.isWhole(content).map { $0 ? .whole : .damaged } ?? .missing
        } catch .ioError {
            return .damaged
        }
    }
}

/// The reason why a search has no answer.
public enum SearchFailure: Error, Equatable, CustomStringConvertible {
    /// The directory is not the root of a receiver.
    case noRoot(String)
    /// The storage cannot be read.
    case unreadable(String)

    /// The exit code, as in sysexits.h.
    public var exitCode: Int32 {
        switch self {
        case .noRoot: 66
        case .unreadable: 74
        }
    }

    /// The message for people, one line.
    public var description: String {
        switch self {
        case .noRoot(let text), .unreadable(let text): text
        }
    }
}
