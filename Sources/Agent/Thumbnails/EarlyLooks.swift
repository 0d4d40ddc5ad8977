import Synchronization
import UploadCore

/// Limits how many files are measured while they are hashed. Each of them holds a descriptor, and each video
/// needs a program. In a rush, most files are measured only when their thumbnails are drawn.
final class EarlyLooks: Sendable {
    private static let most: [MediaType.Kind: Int] = [.image: 32, .video: 2]

    private struct State {
        var running: [MediaType.Kind: Int] = [:]
        var rate = RateLimit(most: 32, per: .seconds(1))
    }
    private let state = Mutex(State())

    /// - Returns: whether another file of this kind may be measured now.
    func begin(_ type: MediaType, now: MonotonicTime) -> Bool {
        state.withLock { state in
            guard state.running[type.kind, default: 0] < Self.most[type.kind] ?? 0, state.rate.next <= now else {
                return false
            }
            state.running[type.kind, default: 0] += 1
            state.rate.use(now: now)
            return true
        }
    }

    func end(_ type: MediaType) { state.withLock { $0.running[type.kind, default: 1] -= 1 } }
}
