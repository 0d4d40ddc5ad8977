import Synchronization
import UploadCore

/// Queue of contents to examine, in order of arrival, and the files that wait for an examination. Examines a few
/// contents at a time, and in a rush, while many files are hashed and uploaded, only a few each second: one after the
/// other, and no more than take a twentieth of the time. A video costs a hundred times as much as a small picture.
struct Examinations: Sendable {
    /// Maximum number of concurrent examinations. The picture worker has one process per processor, up to four. On
    /// larger machines, some processes stay free for pictures that a client waits for.
    static let limit = 2

    /// With more contents, `isCrowded` says that no further ones should be read from the ledger for now.
    static let crowd = 256

    /// With this many contents, `isFull` says that those that come should be left out: a search of the ledger finds them
    /// later. The search reads all paths, so a usual batch of files must fit.
    static let room = 16_384

    /// A rush ends this long after the last file was hashed or ended.
    static let lull = Duration.seconds(1)
    /// How many examinations begin per `share` in a rush.
    static let mostPerShare = 2
    static let share = Duration.milliseconds(100)
    /// With more waiting contents, a rush no longer holds back examinations if files leave the outbox: the files wait too.
    static let mostHeldBack = 500

    private let room: Int?
    private var waiting: [ContentKey] = []
    private var head = 0
    private var rushEnd = MonotonicTime(nanoseconds: 0)
    /// Limits the examinations that begin in a rush.
    private var rate = RateLimit(most: Self.mostPerShare, per: Self.share)
    private var share = TimeShare()
    /// The queued contents and those under examination, with the files that wait for each.
    private var known: [ContentKey: Set<RelativePath>] = [:]
    /// When each running examination began.
    private var running: [ContentKey: MonotonicTime] = [:]

    /// - Parameter room: how many contents may wait; no limit if `nil`, because files that leave the outbox wait for them.
    init(room: Int? = Self.room) { self.room = room }

    /// Queues a content, unless it is queued already.
    mutating func add(_ key: ContentKey) {
        guard known[key] == nil else { return }
        known[key] = []
        waiting.append(key)
    }

    /// Records that a file was hashed, or reached a final state.
    mutating func noteProgress(now: MonotonicTime) { rushEnd = now + Self.lull }

    /// Returns the next content to examine; `nil` if `nextTurn` is later or `nil`.
    mutating func begin(now: MonotonicTime) -> ContentKey? {
        guard let turn = nextTurn, turn <= now else { return nil }
        if now < rushEnd { rate.use(now: now) }
        defer { head += 1 }
        running[waiting[head]] = now
        if head >= Self.crowd, head * 2 >= waiting.count {
            waiting.removeFirst(head)
            head = 0
        }
        return waiting[head]
    }

    /// From when the next content may be examined; `nil` if none waits, or if another examination must end first.
    var nextTurn: MonotonicTime? {
        guard running.count < Self.limit, head < waiting.count else { return nil }
        let mustHurry = room == nil && waiting.count - head > Self.mostHeldBack
        if mustHurry { return MonotonicTime(nanoseconds: 0) }
        return running.isEmpty ? min(rushEnd, max(rate.next, share.next)) : rushEnd
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
    mutating func end(_ key: ContentKey, now: MonotonicTime) -> [RelativePath] {
        if let begin = running.removeValue(forKey: key) { share.worked(from: begin, to: now) }
        return known.removeValue(forKey: key)?.sorted() ?? []
    }

    /// Whether no content is queued or under examination.
    var isEmpty: Bool { known.isEmpty }
    /// Whether many contents are queued.
    var isCrowded: Bool { known.count > Self.crowd }
    /// Whether no further contents should be queued.
    var isFull: Bool { room.map { known.count >= $0 } ?? false }

    /// Whether a content is queued or under examination.
    func covers(_ key: ContentKey) -> Bool { known[key] != nil }
}

/// Limits how many files are measured while they are hashed. Each of them holds a descriptor, and each video
/// needs a program, which costs as much as hashing tens of megabytes. In a rush, most files are measured only when their
/// thumbnails are drawn.
final class EarlyLooks: Sendable {
    private static let most: [MediaType.Kind: Int] = [.image: 32, .video: 1]

    private struct State {
        var running: [MediaType.Kind: Int] = [:]
        var rate = RateLimit(most: 32, per: .seconds(1))
        var videoBegin = MonotonicTime(nanoseconds: 0)
        var videos = TimeShare()
    }
    private let state = Mutex(State())

    /// - Returns: whether another file of this kind may be measured now.
    func begin(_ type: MediaType, now: MonotonicTime) -> Bool {
        state.withLock { state in
            let turn = type.kind == .video ? max(state.rate.next, state.videos.next) : state.rate.next
            guard state.running[type.kind, default: 0] < Self.most[type.kind] ?? 0, turn <= now else { return false }
            if type.kind == .video { state.videoBegin = now }
            state.running[type.kind, default: 0] += 1
            state.rate.use(now: now)
            return true
        }
    }

    func end(_ type: MediaType, now: MonotonicTime) {
        state.withLock { state in
            state.running[type.kind, default: 1] -= 1
            if type.kind == .video { state.videos.worked(from: state.videoBegin, to: now) }
        }
    }
}
