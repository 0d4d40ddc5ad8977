import Text
import Avatars
import ControlAPI
import Synchronization

/// Counts the mirror's events, and publishes them to subscribers.
final class AvatarTally: Sendable {
    /// The kind of answer to a request.
    enum Answer: String {
        case picture, placeholder
    }

    private let events: EventHub?
    private let state = Mutex(AvatarFigures())

    /// - Parameter events: Receives the events; nil without subscribers.
    init(events: EventHub?) {
        self.events = events
    }

    /// The counters so far. The totals of kept pictures are not filled in.
    var figures: AvatarFigures { state.withLock(\.self) }

    func count(_ answer: Answer) {
        state.withLock { $0.requests[answer.rawValue, default: 0] += 1 }
    }

    /// Counts and publishes an event of the cache.
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
