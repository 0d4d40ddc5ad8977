import Intake
import Sidecars
import UploadCore

// Answers the questions of posts from disk, path book, ledger and upload machine. Posts ask while they change, so nothing
// here may read them.
extension AgentCore: BookedPostFacts {
    /// Maximum number of names that are read when a directory becomes a post: far more than a post may have.
    private static let mostNames = 10_000

    /// The core answers about paths, too.
    var paths: AgentCore { self }

    func names(below directory: RelativePath) -> [RelativePath] {
        sources.files.names(below: directory, atMost: Self.mostNames)
    }

    func isIgnored(_ path: RelativePath) -> Bool { sources.rules.isIgnored(path) }

    func knownRecords(of key: ContentKey) -> [DropRecord]? { try? records(of: key) }

    func recoveredWish(ofPost directory: RelativePath) -> RecoveredWish? {
        guard book.isRecovering, let word = sources.sidecars.lastWord(of: .source(directory))?.word else { return nil }
        if word.isCancelledByUser { return .cancelled }
        return word.fileState == .paused ? .paused : nil
    }

    func newID() -> String {
        UInt64.random(in: .min ... .max).hexadecimal + UInt64.random(in: .min ... .max).hexadecimal
    }
}
