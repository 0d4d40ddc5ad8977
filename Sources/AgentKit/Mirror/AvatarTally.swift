import Avatars
import Synchronization
import UploadCore

/// Counts what happens to avatars, and tells it to those who follow.
final class AvatarTally: Sendable {
    /// What somebody was given.
    enum Answer: String {
        case picture, placeholder
    }

    private let events: EventHub?
    private let state = Mutex(AvatarFigures())

    /// - Parameter events: told what happens; nil where nobody follows.
    init(events: EventHub?) {
        self.events = events
    }

    /// What was counted; what is kept now is not.
    var figures: AvatarFigures { state.withLock(\.self) }

    func count(_ answer: Answer) {
        state.withLock { $0.requests[answer.rawValue, default: 0] += 1 }
    }

    /// Takes what the cache tells.
    func take(_ event: AvatarEvent) {
        switch event {
        case .kept(let url, _):
            state.withLock { $0.downloads += 1 }
            events?.publish(avatar: AvatarNews(url: url, state: .kept))
        case .removed(let url):
            state.withLock { $0.removals += 1 }
            events?.publish(avatar: AvatarNews(url: url, state: .removed))
        case .failed(let url, let code, let message, let until):
            state.withLock { $0.failures[code, default: 0] += 1 }
            events?.publish(
                avatar: AvatarNews(
                    url: url, state: .failed, code: code, message: message, until: until.map(Timestamp.text)))
        }
    }
}
