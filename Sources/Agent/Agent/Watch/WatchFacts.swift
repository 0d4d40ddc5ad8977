import Ledger
import UploadCore

/// What `WatchIntake` may ask.
protocol WatchFacts {
    /// Whether there is a post.
    var hasPosts: Bool { get }
    /// The `source.toml` of every post.
    var descriptions: [RelativePath] { get }
    /// Whether a user's wish may follow a file to another path.
    var mayFollow: Bool { get }
    /// Whether the outbox was scanned in this run.
    var hasScanned: Bool { get }
    var outboxIsLost: Bool { get }
    /// The absolute path of the outbox, for log lines.
    var outboxPath: String { get }

    /// Whether the path is the `source.toml` of a post, or makes its directory a post.
    func isDescription(_ path: RelativePath) -> Bool
    /// Returns some of the known paths at or below a directory, and where the next page begins.
    func page(within directory: RelativePath, from position: DropPosition) -> (
        paths: [RelativePath], next: DropPosition?
    )
    func look(at path: RelativePath) -> FileLook
    /// Whether the file system of the outbox is full.
    var isDiskFull: Bool { get }
    /// Returns why a file of this size is rejected; `nil` if the size is accepted.
    func objection(toSize size: UInt64) -> FileError?
}
