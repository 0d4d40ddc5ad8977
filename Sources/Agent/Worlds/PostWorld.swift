import Intake
import Ledger
import Sidecars
import UploadCore

/// Answers the questions of posts from disk, path book, ledger and upload machine.
struct PostWorld: PostFacts {
    /// Maximum number of names that are read when a directory becomes a post: far more than a post may have.
    private static let mostNames = 10_000

    let paths: PathWorld
    let book: PathBook
    let rules: IntakeRules

    func look(at path: RelativePath) -> FileLook { paths.look(at: path) }

    func names(below directory: RelativePath) -> [RelativePath] {
        paths.files.names(below: directory, atMost: Self.mostNames)
    }

    func isIgnored(_ path: RelativePath) -> Bool { rules.isIgnored(path) }

    func record(of path: RelativePath) -> DropRecord? { book.drops[path] ?? paths.storedRecord(of: path) }

    func isOnItsWay(_ path: RelativePath) -> Bool { book.drops[path] != nil }

    func onTheirWay(within directory: RelativePath) -> [RelativePath] { book.drops.paths(within: directory) }

    func forEachRecord(_ body: (DropRecord) -> Void) {
        for record in book.drops.values { body(record) }
        paths.forEachStoredRecord(within: .root) { if book.drops[$0.path] == nil { body($0) } }
    }

    func records(of key: ContentKey) -> [DropRecord]? {
        try? ContentWorld(world: paths, active: book.drops).records(of: key)
    }

    func isPausedByUser(_ record: DropRecord) -> Bool { book.isPaused(record) }

    func isPaused(_ path: RelativePath, for key: ContentKey) -> Bool? { paths.machine.isPaused(path, of: key) }

    func isLeaving(_ description: RelativePath) -> Bool { book.isLeaving(description) }

    func isRetiring(_ path: RelativePath) -> Bool { book.retiring[path] != nil }

    func recoveredWish(ofPost directory: RelativePath) -> RecoveredWish? {
        guard book.isRecovering, let word = paths.sidecars.lastWord(of: .source(directory))?.word else { return nil }
        if word.isCancelledByUser { return .cancelled }
        return word.fileState == .paused ? .paused : nil
    }

    var isAllPaused: Bool { paths.isAllPaused }
    var isSignedOut: Bool { paths.isSignedOut }

    func newID() -> String {
        UInt64.random(in: .min ... .max).hexadecimal + UInt64.random(in: .min ... .max).hexadecimal
    }
}
