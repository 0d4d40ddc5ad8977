import Synchronization
import UploadCore

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
