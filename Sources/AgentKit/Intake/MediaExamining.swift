import LinuxSystem
import UploadCore

/// Somebody who measures pictures and videos and makes their thumbnails.
protocol MediaExamining: Sendable {
    /// Whether thumbnails are wanted.
    var drawsThumbnails: Bool { get }

    /// Measures a file; quick for pictures.
    ///
    /// - Returns: what could be told; nil where asking another time may tell more.
    func measure(_ file: SharedDescriptor, _ type: MediaType) async -> MediaFacts?

    /// Makes the thumbnail of a content, whole or not at all; does nothing where it is there.
    ///
    /// - Parameter duration: of a video, where it is known.
    /// - Returns: whether that is settled: it is there, or can't be had of this content.
    func drawThumbnail(
        of file: SharedDescriptor, _ type: MediaType, key: ContentKey, duration: Double?
    ) async -> Bool

    /// The contents that have a thumbnail.
    func thumbnails() async -> [ContentKey]

    /// Removes the thumbnail of a content that nobody has any more.
    func dropThumbnail(of key: ContentKey)
}

/// Contents that are to be looked into, in the order they came, a few at a time.
struct Examinations: Sendable {
    /// Contents looked into at once. The picture worker has one process for each processor, up to four: on larger machines
    /// some stay free for those somebody waits for.
    static let limit = 2

    private var waiting: [ContentKey] = []
    private var head = 0
    private var known: Set<ContentKey> = []
    private var running = 0

    /// Queues a content; once is enough.
    mutating func add(_ key: ContentKey) {
        if known.insert(key).inserted { waiting.append(key) }
    }

    /// The next content to look into now; nil while enough are looked into, or none is left.
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

    /// A content was looked into.
    mutating func end(_ key: ContentKey) {
        running -= 1
        known.remove(key)
    }

    /// Whether a content is queued or looked into.
    func covers(_ key: ContentKey) -> Bool { known.contains(key) }
}
