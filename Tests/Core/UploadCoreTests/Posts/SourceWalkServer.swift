import UploadCore

/// The server of a walk: repeats its answer for a known revision, and loses contents, requests and replies.
struct SourceWalkServer {
    var isFlaky = true
    /// The ids that the server knows now.
    var ids: [ContentKey: String] = [:]
    /// Every id ever issued, with its content.
    var given: [String: ContentKey] = [:]
    var revisions: [Int: SourceCommit] = [:]
    /// Revisions with files that this agent does not know, since its state is an older copy.
    var foreign: Set<Int> = []
    var problem: String?

    /// Returns the id of a content that was just uploaded.
    mutating func id(of key: ContentKey) -> String {
        if let id = ids[key] { return id }
        let id = "\(given.count)"
        ids[key] = id
        given[id] = key
        return id
    }

    mutating func forget(_ key: ContentKey) { ids[key] = nil }

    /// Returns the answer, or nil if the request or its reply is lost.
    mutating func take(_ commit: SourceCommit, random: inout WalkRandom) -> CommitOutcome? {
        if isFlaky, random.oneIn(4) { return nil }
        if isFlaky, revisions[commit.revision] == nil, random.oneIn(15) {
            foreign.formUnion([commit.revision, commit.revision + 1])
        }
        if foreign.contains(commit.revision) {
            return reply(.taken(latest: foreign.max() ?? commit.revision), random: &random)
        }
        if let known = revisions[commit.revision] {
            if known != commit { problem = "revision \(commit.revision) told with two payloads" }
            return reply(.done(url: "post"), random: &random)
        }
        if isFlaky, random.oneIn(8), let lost = ids.keys.sorted().randomElement(using: &random) { forget(lost) }
        let known = Set(ids.values)
        if !commit.fileIDs.allSatisfy(known.contains) { return reply(.forgotten(.busy), random: &random) }
        if isFlaky, random.oneIn(10) { return .refused(.refused) }
        revisions[commit.revision] = commit
        return reply(.done(url: "post"), random: &random)
    }

    private func reply(_ outcome: CommitOutcome, random: inout WalkRandom) -> CommitOutcome? {
        isFlaky && random.oneIn(3) ? nil : outcome
    }
}
