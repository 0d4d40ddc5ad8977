import Intake
import Ledger
import Sidecars
import UploadCore

// What follows from the decisions about posts.
//
// A file of a post is an ordinary file: watched, hashed, and a waiter of its upload. While the post holds the file, the
// waiter is paused. Nothing else differs.
extension AgentCore {
    /// Passes an event to the posts.
    ///
    /// - Returns: why a user's request was refused; `nil` if it was not.
    @discardableResult
    func tellPosts(_ event: PostsEvent) -> String? {
        let actions = posts.handle(event, now: now, facts: self)
        carryOut(actions)
        for case .refuse(let reason) in actions { return reason }
        return nil
    }

    /// Tells the post of a file that the path book changed the file's record.
    func tellPost(of path: RelativePath) {
        if !posts.isEmpty, let record = record(of: path) { tellPosts(.changed(record)) }
    }

    /// Has posts told of changed files once the changes are durable. A post that appears until then reads the records
    /// itself.
    func tellPostsOnceDurable(of paths: [RelativePath]) {
        if posts.isEmpty { return }
        for path in paths { decision.performOnceDurable(.handle(.tellPost(of: path))) }
    }

    private func carryOut(_ actions: [PostsAction]) {
        if actions.isEmpty { return }
        var requests: [PathEvent] = []
        var changes: [PathAction] = []
        for action in actions {
            switch action {
            case .path(let event): requests.append(event)
            case .write(let write): changes.append(.write(write))
            case .upload(let event): changes.append(.upload(event))
            case .announceGone(let id, let directory): decision.perform(.announcePostGone(id: id, directory))
            case .removeSidecar(let directory): decision.perform(.removePostSidecar(directory))
            default: break
            }
        }
        carryOut((requests.isEmpty ? [] : ask { $0.handle(requests, now: now, facts: self) }) + changes)
        for action in actions { conclude(action) }
    }

    private func conclude(_ action: PostsAction) {
        switch action {
        case .settle(let path): decision.perform(.settle(path))
        case .readDescription(let directory): decision.perform(.readDescription(directory))
        case .reportFile(let path): decision.perform(.report([path]))
        case .report(let directory): decision.perform(.reportPost(directory))
        case .reportWhenDurable(let directory, let files):
            decision.performOnceDurable(.report(files))
            decision.performOnceDurable(.reportPost(directory))
        case .retireFiles(let directory): decision.performOnceDurable(.handle(.retireFiles(directory)))
        case .retire(let directory): decision.perform(.retirePost(directory))
        case .write, .path, .upload, .announceGone, .removeSidecar, .refuse: break
        }
    }
}

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
