import Intake
import UploadCore

/// Answers the questions of `WatchIntake` from path book, posts, ledger and disk.
struct WatchWorld: WatchFacts {
    let paths: PathWorld
    let boxedBook: Boxed<PathBook>
    let boxedPosts: Boxed<Posts>
    let rules: IntakeRules

    var book: PathBook { _read { yield boxedBook.value } }
    var posts: Posts { _read { yield boxedPosts.value } }

    var hasPosts: Bool { !posts.isEmpty }
    var descriptions: [RelativePath] { posts.descriptions }
    var mayFollow: Bool { book.mayFollow }
    var hasScanned: Bool { book.hasScanned }
    var outboxIsLost: Bool { book.outboxIsLost }
    var outbox: String { paths.files.root }

    func isDescription(_ path: RelativePath) -> Bool { posts.directory(describedBy: path) != nil }
    func paths(within directory: RelativePath) -> [RelativePath] { book.paths(within: directory, facts: paths) }
    func look(at path: RelativePath) -> FileLook { paths.look(at: path) }
    func objection(toSize size: UInt64) -> FileError? { rules.objection(toSize: size) }
}
