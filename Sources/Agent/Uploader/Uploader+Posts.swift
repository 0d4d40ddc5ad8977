import AgentConfiguration
import ControlAPI
import Intake
import Logging
import Reports
import Sidecars
import SystemPackage
import UploadCore

// Carries out the decisions about posts.
//
// A file of a post is an ordinary file: watched, hashed, and a waiter of its upload. While the post holds the file, the
// waiter is paused. Nothing else differs.
extension Uploader {
    /// What posts may ask at this moment.
    private var postWorld: PostWorld { PostWorld(paths: world, book: book, rules: parts.rules) }

    /// Passes an event to the posts and carries out their decisions.
    ///
    /// - Returns: why a user's request was refused; `nil` if it was not.
    @discardableResult
    func handle(posts event: PostsEvent) -> String? {
        let actions = posts.handle(event, now: now, facts: postWorld)
        reportLedgerTrouble()
        if !actions.isEmpty { carryOut(actions) }
        if posts.nextDeadline != nil { setAlarm() }
        for case .refuse(let reason) in actions { return reason }
        return nil
    }

    /// Carries out the decisions of posts: all durable changes, with those of the path book, in one commit; then the
    /// rest in order.
    private func carryOut(_ actions: [PostsAction]) {
        var requests: [PathEvent] = []
        var changes: [PathAction] = []
        for action in actions {
            switch action {
            case .path(let event): requests.append(event)
            case .write(let write): changes.append(.write(write))
            case .upload(let event): changes.append(.upload(event))
            case .announceGone(let id, let directory): events.publish(sourceGone: id, directory)
            case .removeSidecar(let directory): parts.sidecars.remove(source: directory)
            default: break
            }
        }
        carryOut((requests.isEmpty ? [] : book.handle(requests, now: now, facts: world)) + changes)
        let late = actions.filter(\.waitsForLedger)
        if !late.isEmpty {
            commit([]) { uploader in
                for action in late { uploader.conclude(action) }
            }
        }
        for action in actions where !action.waitsForLedger { conclude(action) }
    }

    private func conclude(_ action: PostsAction) {
        switch action {
        case .settle(let path): reconsider(path)
        case .readDescription(let directory): readDescription(of: directory)
        case .reportFile(let path): report([path])
        case .report(let directory): reporter.report(post: directory, reports)
        case .reportWhenDurable(let directory, let files):
            report(files)
            reporter.report(post: directory, reports)
        case .retireFiles(let directory): for path in posts.retirableFiles(of: directory) { retire(path) }
        case .retire(let directory): retire(post: directory)
        case .write, .path, .upload, .announceGone, .removeSidecar, .refuse: break
        }
    }

    private func readDescription(of directory: RelativePath) {
        let result = SourceDescriptionReader(files: parts.files).read(directory)
        if case .failure(let error) = result, !error.retryable { reporter.logRejection(ofPost: directory, error) }
        handle(posts: .read(directory, result))
    }

    // MARK: News

    /// Tells the post of a file that the path book changed the file's record.
    func tellPost(of path: RelativePath) {
        if !posts.isEmpty, let record = record(of: path) { handle(posts: .changed(record)) }
    }

    // MARK: Start

    /// Passes all files to their posts after a restart, and brings the sidecars of posts in line.
    func startPosts() {
        handle(posts: .started)
        reporter.restorePosts(reports)
    }

    // MARK: Commits

    func commitEnded(_ id: String, revision: Int, _ outcome: CommitOutcome) {
        guard let directory = posts.directory(withID: id) else { return }
        reporter.logCommit(ofPost: directory, outcome)
        handle(posts: .commitEnded(id: id, revision: revision, outcome))
    }
}

extension PostsAction {
    /// Whether the action must wait until all writes are durable.
    fileprivate var waitsForLedger: Bool {
        switch self {
        case .reportWhenDurable, .retireFiles: true
        case .write, .path, .upload, .readDescription, .settle, .reportFile, .report, .announceGone, .removeSidecar,
            .retire, .refuse:
            false
        }
    }
}
