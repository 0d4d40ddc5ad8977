package import LinuxSystem
package import UploadCore

/// Measures pictures and videos and draws their thumbnails.
package protocol MediaExamining: Sendable {
    /// Whether the configuration enables thumbnails.
    var drawsThumbnails: Bool { get }

    /// Measures a file. Quick for pictures.
    ///
    /// - Returns: the facts found; `nil` if a later attempt may find more.
    func measure(_ file: SharedDescriptor, _ type: MediaType) async -> MediaFacts?

    /// Draws the thumbnail of a content, either completely or not at all. Does nothing if the thumbnail exists.
    ///
    /// - Parameter duration: of a video, if known.
    /// - Returns: whether the result is final: the thumbnail exists, or can't be drawn from this content.
    func drawThumbnail(
        of file: SharedDescriptor, _ type: MediaType, key: ContentKey, duration: Double?
    ) async -> Bool

    /// Returns the contents that have a thumbnail.
    func thumbnails() async -> [ContentKey]

    /// Removes the thumbnail of a content that no path holds.
    func dropThumbnail(of key: ContentKey)
}

/// Queue of contents to examine, in order of arrival. Examines a few at a time.
package struct Examinations: Sendable {
    /// Maximum number of concurrent examinations. The picture worker has one process per processor, up to four. On
    /// larger machines, some processes stay free for pictures that a client waits for.
    package static let limit = 2

    private var waiting: [ContentKey] = []
    private var head = 0
    private var known: Set<ContentKey> = []
    private var running = 0

    package init(waiting: [ContentKey] = [], head: Int = 0, known: Set<ContentKey> = [], running: Int = 0) {
        self.waiting = waiting
        self.head = head
        self.known = known
        self.running = running
    }

    /// Queues a content, unless it is queued already.
    package mutating func add(_ key: ContentKey) {
        if known.insert(key).inserted { waiting.append(key) }
    }

    /// Returns the next content to examine; `nil` at the limit or if the queue is empty.
    package mutating func begin() -> ContentKey? {
        guard running < Self.limit, head < waiting.count else { return nil }
        defer { head += 1 }
        running += 1
        if head == 1024 {
            waiting.removeFirst(head)
            head = 0
        }
        return waiting[head]
    }

    /// Ends an examination.
    package mutating func end(_ key: ContentKey) {
        running -= 1
        known.remove(key)
    }

    /// Whether a content is queued or under examination.
    package func covers(_ key: ContentKey) -> Bool { known.contains(key) }
}
