import Synchronization
@testable import UploadCore

/// The posts' view of a stage's server.
struct PostStageServer {
    /// The ids that the server knows now.
    var ids: Set<String> = []
    /// The payload of each revision that reached the server, by post.
    var revisions: [String: [Int: SourceCommit]] = [:]
    private var lastID = 0

    /// Returns the id of a content that was just uploaded for an account.
    mutating func id(of key: ContentKey, _ account: String) -> String {
        lastID += 1
        let id = "\(account)/\(key.high)/\(lastID)"
        ids.insert(id)
        return id
    }
}

// The part of a stage that concerns posts. The stage performs actions as the agent does: the changes of one event are
// one commit, and posts learn of the path book's changes after it.
extension PathStage {
    var postFacts: PostStageFacts {
        PostStageFacts(paths: facts, book: book, waiters: waiters, ids: postIDs)
    }

    /// Tells posts of a watch event.
    ///
    /// - Returns: whether the path is a description, which the path book does not see.
    mutating func tellPosts(_ event: PostsEvent, about path: RelativePath) -> Bool {
        guard !posts.isEmpty || PostPlaces.directory(of: path) != nil else { return false }
        let isDescription = posts.directory(describedBy: path) != nil
        handle(posts: event)
        return isDescription
    }

    /// Tells posts of a changed file, once the change is durable.
    mutating func tellPosts(whenDurable path: RelativePath) {
        if isLedgerSlow {
            untold.append(path)
        } else if let record = record(path) {
            handle(posts: .changed(record))
        }
    }

    /// Makes the changes so far durable.
    mutating func tellPosts() {
        while !untold.isEmpty {
            if let record = record(untold.removeFirst()) { handle(posts: .changed(record)) }
        }
    }

    mutating func handle(posts event: PostsEvent) {
        let actions = posts.handle(event, now: now, facts: postFacts)
        if actions.isEmpty { return }
        note(event, actions)
        postActions += actions
        let requests = actions.compactMap { if case .path(let event) = $0 { event } else { nil } }
        let changes = requests.isEmpty ? [] : book.handle(requests, now: now, facts: facts)
        apply(changes)
        for action in actions {
            switch action {
            case .write(let write): apply(write)
            case .upload(let event): apply(posts.held(event) { record($0) })
            default: break
            }
        }
        conclude(changes)
        for action in actions {
            switch action {
            case .settle(let path): news.append(.settled(path))
            case .readDescription(let directory): handle(posts: .read(directory, description(of: directory)))
            default: break
            }
        }
    }

    /// The meaning of a description's content: 1 to 3 are descriptions, 2 is a draft, and 4 is malformed.
    private func description(of directory: RelativePath) -> Result<SourceDescription, FileError> {
        guard let file = files[PostPlaces.description(of: directory)] else {
            return .failure(FileError(code: "file_missing", message: "missing", retryable: true))
        }
        if file.content == 4 { return .failure(.broken) }
        return .success(SourceDescription(title: "\(file.content)", isDraft: file.content == 2))
    }

    /// Restores the posts from the ledger after a kill.
    mutating func restorePosts() {
        commits = [:]
        untold = []
        let stored = postLedger.values.sorted { $0.id < $1.id }
        for write in posts.restore(stored, isOtherServer: false, now: now, facts: postFacts) { apply(write) }
    }

    @discardableResult
    mutating func wish(_ wish: UserAction, for directory: RelativePath) -> String? {
        postActions = []
        handle(posts: .wish(wish, directory))
        for case .refuse(let reason) in postActions { return reason }
        return nil
    }

    // MARK: Commits

    mutating func begin(_ commit: SourceCommit) {
        commits[commit.sourceID] = commit
        guard let directory = posts.directory(withID: commit.sourceID), let post = posts[directory]?.record else {
            return fail("a commit for an unknown post")
        }
        if posts.isParked(post) { fail("\(directory) is committed for another account") }
        if post.isPaused { fail("\(directory) is committed while paused") }
        for id in commit.fileIDs where !id.hasPrefix(account + "/") {
            fail("\(directory) is committed with \(id), which \(account) never sent")
        }
        let contents = Set(commit.fileIDs.compactMap { $0.split(separator: "/").dropFirst().first })
        if contents != Set(post.files.values.map { "\($0.high)"[...] }) {
            fail("\(directory) is committed before all its files are confirmed")
        }
    }

    /// Has the server answer a commit. `isLost`: the answer never arrives.
    mutating func answer(_ id: String, isRefused: Bool = false, isLost: Bool = false) {
        guard let commit = commits[id] else { return }
        var outcome = CommitOutcome.done(url: "post")
        if let known = server.revisions[id]?[commit.revision] {
            if known != commit { fail("revision \(commit.revision) of one post has two payloads") }
        } else if !server.ids.isSuperset(of: commit.fileIDs) {
            outcome = .forgotten(.broken)
        } else if isRefused {
            outcome = .refused(.broken)
        } else {
            server.revisions[id, default: [:]][commit.revision] = commit
        }
        if isLost { return }
        commits[id] = nil
        handle(posts: .commitEnded(id: id, revision: commit.revision, outcome))
    }

    mutating func fail(_ text: String) { problem = problem ?? text }
}

/// A snapshot of the stage for posts.
struct PostStageFacts: BookedPostFacts {
    var paths: PathStageFacts
    var book: PathBook
    var waiters: [ContentKey: [RelativePath: Bool]]
    var ids: PostIDs

    func names(below directory: RelativePath) -> [RelativePath] {
        paths.files.keys.filter { $0 != directory && $0.isWithin(directory) }.sorted()
    }
    func isIgnored(_ path: RelativePath) -> Bool { false }
    func knownRecords(of key: ContentKey) -> [DropRecord]? {
        var records: [DropRecord] = []
        forEachRecord(within: .root) { if $0.key == key { records.append($0) } }
        return records
    }
    func isPaused(_ path: RelativePath, for key: ContentKey) -> Bool? { waiters[key]?[path] }
    func recoveredWish(ofPost directory: RelativePath) -> RecoveredWish? { nil }
    func newID() -> String { ids.next() }
}

/// Ids for the posts of a stage.
final class PostIDs: Sendable {
    private let last = Mutex(0)

    func next() -> String {
        let number = last.withLock { last in
            last += 1
            return last
        }
        return "post \(number)"
    }
}
