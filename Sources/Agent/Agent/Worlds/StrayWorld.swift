import Intake
import UploadCore

/// Answers the questions of `StraySearch` from disk, path book, posts and ledger.
struct StrayWorld: StrayFacts {
    let paths: PathWorld
    let boxedBook: Boxed<PathBook>
    let boxedPosts: Boxed<Posts>
    let outbox: KnownOutbox

    var book: PathBook { _read { yield boxedBook.value } }
    var posts: Posts { _read { yield boxedPosts.value } }

    var isWholeOutbox: Bool {
        outbox.isWhole(paths.files.identity, awaitsFiles: book.outboxIsLost || !book.elsewhere.isEmpty)
    }

    var lostMounts: Set<RelativePath> { book.lostMounts }

    func isBusy(_ path: RelativePath) -> Bool {
        book.drops[path] != nil || book.isHashing(path) || book.isRetiring(path) || book.isAway(path)
    }

    func hasRecord(_ path: RelativePath) -> Bool {
        !paths.canAnswer(about: path, nil) || paths.storedRecord(of: path) != nil
    }

    func isPost(_ directory: RelativePath) -> Bool { posts[directory] != nil }
    func isInPost(_ directory: RelativePath) -> Bool {
        directory != .root && posts.directory(above: directory.parent) != nil
    }

    func isGone(_ path: RelativePath) -> Bool { paths.files.isGone(path) }
}
