import Intake
import Ledger
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
    var isDiskFull: Bool { paths.files.isDiskFull }

    func isDescription(_ path: RelativePath) -> Bool { posts.directory(describedBy: path) != nil }

    func page(within directory: RelativePath, from position: DropPosition) -> (
        paths: [RelativePath], next: DropPosition?
    ) {
        let stored = paths.stored
        let page = stored.asked { () throws(LedgerError) in try stored.page(within: directory, from: position) }
        let known = page?.drops.map(\.path) ?? []
        guard position == .first else { return (known, page?.next) }
        return (book.drops.paths(within: directory) + known.filter { book.drops[$0] == nil }, page?.next)
    }

    func look(at path: RelativePath) -> FileLook { paths.look(at: path) }
    func objection(toSize size: UInt64) -> FileError? { rules.objection(toSize: size) }
}
