import UploadCore

/// Queue of contents to examine, in order of arrival, and the files that wait for an examination. Examines a few
/// contents at a time.
struct Examinations: Sendable {
    /// Maximum number of concurrent examinations. The picture worker has one process per processor, up to four. On
    /// larger machines, some processes stay free for pictures that a client waits for.
    static let limit = 2

    /// With more contents, `isCrowded` says that no further ones should be added for now.
    static let crowd = 256

    private var waiting: [ContentKey] = []
    private var head = 0
    /// The queued contents and those under examination, with the files that wait for each.
    private var known: [ContentKey: Set<RelativePath>] = [:]
    private var running = 0

    /// Queues a content, unless it is queued already.
    mutating func add(_ key: ContentKey) {
        guard known[key] == nil else { return }
        known[key] = []
        waiting.append(key)
    }

    /// Returns the next content to examine; `nil` at the limit or if the queue is empty.
    mutating func begin() -> ContentKey? {
        guard running < Self.limit, head < waiting.count else { return nil }
        defer { head += 1 }
        running += 1
        if head == 1024 {
            waiting.removeFirst(head)
            head = 0
        }
        return waiting[head]
    }

    /// Makes a file wait until the examination of its content ends.
    ///
    /// - Returns: false if the content is neither queued nor under examination.
    mutating func hold(_ path: RelativePath, for key: ContentKey) -> Bool {
        known[key]?.insert(path) != nil
    }

    /// Ends an examination.
    ///
    /// - Returns: the files that waited for it, sorted.
    mutating func end(_ key: ContentKey) -> [RelativePath] {
        running -= 1
        return known.removeValue(forKey: key)?.sorted() ?? []
    }

    /// Whether no content is queued or under examination.
    var isEmpty: Bool { known.isEmpty }
    /// Whether many contents are queued.
    var isCrowded: Bool { known.count > Self.crowd }

    /// Whether a content is queued or under examination.
    func covers(_ key: ContentKey) -> Bool { known[key] != nil }
}
