import Synchronization
import UploadCore

/// Limits how many files are measured while they are hashed. Each of them holds a descriptor, and each video
/// needs a program. In a rush, most files are measured only when their thumbnails are drawn.
final class EarlyLooks: Sendable {
    private static let most: [MediaType.Kind: Int] = [.image: 32, .video: 2]
    /// Maximum number that begin per `share`.
    private static let mostPerShare = 32
    private static let share = Duration.seconds(1)

    private struct State {
        var running: [MediaType.Kind: Int] = [:]
        /// The end of the present share, and how many have begun in it.
        var share = (end: MonotonicTime(nanoseconds: 0), count: 0)
    }
    private let state = Mutex(State())

    /// - Returns: whether another file of this kind may be measured now.
    func begin(_ type: MediaType, now: MonotonicTime) -> Bool {
        state.withLock { state in
            if state.share.end <= now { state.share = (now + Self.share, 0) }
            guard state.running[type.kind, default: 0] < Self.most[type.kind] ?? 0,
                state.share.count < Self.mostPerShare
            else { return false }
            state.running[type.kind, default: 0] += 1
            state.share.count += 1
            return true
        }
    }

    func end(_ type: MediaType) { state.withLock { $0.running[type.kind, default: 1] -= 1 } }
}
