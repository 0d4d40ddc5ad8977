/// What `Posts` may ask while handling an event: the present state of disk, paths and uploads.
package protocol PostFacts {
    /// Looks at what has this path.
    func look(at path: RelativePath) -> FileLook
    /// Lists everything below a directory except directories, as far as listing succeeds. Reads far more names than a
    /// post may have, and not all names of a huge directory.
    func names(below directory: RelativePath) -> [RelativePath]
    /// Whether the configuration ignores a name.
    func isIgnored(_ path: RelativePath) -> Bool
    /// Returns the record of a path: the path book's, else the ledger's, including pending changes.
    func record(of path: RelativePath) -> DropRecord?
    /// Returns the paths in a directory that the path book holds, in no particular order.
    func onTheirWay(within directory: RelativePath) -> [RelativePath]
    /// Calls `body` with the present record of every path at or below a directory, in no particular order.
    func forEachRecord(within directory: RelativePath, _ body: (DropRecord) -> Void)
    /// Returns the records of all paths with a content; nil if the ledger can't be read.
    func knownRecords(of key: ContentKey) -> [DropRecord]?
    /// Whether the user paused this path itself.
    func isPausedByUser(_ record: DropRecord) -> Bool
    /// Whether the path waits paused for the upload of a content; nil if it does not wait for it.
    func isPaused(_ path: RelativePath, for key: ContentKey) -> Bool?
    /// Whether a description is missing while its removal does not count yet.
    func isLeaving(_ description: RelativePath) -> Bool
    /// Whether a file is on its way out of the outbox.
    func isRetiring(_ path: RelativePath) -> Bool
    /// How long the outcomes of removed files and posts stay.
    var retention: Retention { get }
    /// Returns the user's wish in the sidecar of a post if the ledger was lost and knows of none.
    func recoveredWish(ofPost directory: RelativePath) -> RecoveredWish?
    /// Whether the user paused everything.
    var isAllPaused: Bool { get }
    /// Whether nobody is signed in.
    var isSignedOut: Bool { get }
    /// Returns an id for a new post: 32 hexadecimal digits that no other post has.
    func newID() -> String
}

/// Post facts with a path book. Path book and path facts answer most questions.
package protocol BookedPostFacts: PostFacts {
    associatedtype Paths: PathFacts

    var book: PathBook { get }
    var paths: Paths { get }
}

extension BookedPostFacts {
    package func look(at path: RelativePath) -> FileLook { paths.look(at: path) }

    package func record(of path: RelativePath) -> DropRecord? { book.drops[path] ?? paths.storedRecord(of: path) }

    package func onTheirWay(within directory: RelativePath) -> [RelativePath] { book.drops.paths(within: directory) }

    package func forEachRecord(within directory: RelativePath, _ body: (DropRecord) -> Void) {
        for path in book.drops.paths(within: directory) { if let record = book.drops[path] { body(record) } }
        paths.forEachStoredRecord(within: directory) { if book.drops[$0.path] == nil { body($0) } }
    }

    package func isPausedByUser(_ record: DropRecord) -> Bool { book.isPaused(record) }

    package func isLeaving(_ description: RelativePath) -> Bool { book.isLeaving(description) }

    package func isRetiring(_ path: RelativePath) -> Bool { book.isRetiring(path) }

    package var retention: Retention { book.retention }

    package var isAllPaused: Bool { paths.isAllPaused }

    package var isSignedOut: Bool { paths.isSignedOut }
}

extension PostFacts {
    /// Whether the path is known and in no final state.
    func isOnItsWay(_ path: RelativePath) -> Bool { record(of: path)?.state.isFinal == false }
}

/// A user's wish for a post that only the post's sidecar still states.
package enum RecoveredWish: Equatable, Sendable {
    case cancelled, paused
}

/// Placeholder between events, when no facts are available.
struct NoPostFacts: PostFacts {
    func look(at path: RelativePath) -> FileLook { .unknown }
    func names(below directory: RelativePath) -> [RelativePath] { [] }
    func isIgnored(_ path: RelativePath) -> Bool { false }
    func record(of path: RelativePath) -> DropRecord? { nil }
    func onTheirWay(within directory: RelativePath) -> [RelativePath] { [] }
    func forEachRecord(within directory: RelativePath, _ body: (DropRecord) -> Void) {}
    func knownRecords(of key: ContentKey) -> [DropRecord]? { nil }
    func isPausedByUser(_ record: DropRecord) -> Bool { false }
    func isPaused(_ path: RelativePath, for key: ContentKey) -> Bool? { nil }
    func isLeaving(_ description: RelativePath) -> Bool { false }
    func isRetiring(_ path: RelativePath) -> Bool { false }
    var retention: Retention { Retention(length: .zero) }
    func recoveredWish(ofPost directory: RelativePath) -> RecoveredWish? { nil }
    var isAllPaused: Bool { false }
    var isSignedOut: Bool { false }
    func newID() -> String { "" }
}

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
