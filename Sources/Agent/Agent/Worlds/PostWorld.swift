import Intake
import Sidecars
import UploadCore

/// Answers the questions of posts from disk, path book, ledger and upload machine.
struct PostWorld: BookedPostFacts {
    /// Maximum number of names that are read when a directory becomes a post: far more than a post may have.
    private static let mostNames = 10_000

    let paths: PathWorld
    let boxedBook: Boxed<PathBook>
    let rules: IntakeRules

    var book: PathBook { _read { yield boxedBook.value } }

    func names(below directory: RelativePath) -> [RelativePath] {
        paths.files.names(below: directory, atMost: Self.mostNames)
    }

    func isIgnored(_ path: RelativePath) -> Bool { rules.isIgnored(path) }

    func records(of key: ContentKey) -> [DropRecord]? {
        try? ContentWorld(world: paths, active: book.drops).records(of: key)
    }

    func isPaused(_ path: RelativePath, for key: ContentKey) -> Bool? { paths.isPaused(path, for: key) }

    func recoveredWish(ofPost directory: RelativePath) -> RecoveredWish? {
        guard book.isRecovering, let word = paths.sidecars.lastWord(of: .source(directory))?.word else { return nil }
        if word.isCancelledByUser { return .cancelled }
        return word.fileState == .paused ? .paused : nil
    }

    func newID() -> String {
        UInt64.random(in: .min ... .max).hexadecimal + UInt64.random(in: .min ... .max).hexadecimal
    }
}
