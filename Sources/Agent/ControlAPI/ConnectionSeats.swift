import NIOCore
import Synchronization

/// The open connections to a listener, limited in number.
///
/// At the limit, the oldest connection without a served request is closed, so that other users of the machine can't
/// keep the owner out, and idle programs can't use up the agent's descriptors.
final class ConnectionSeats: Sendable {
    private struct Seat {
        let channel: any Channel
        /// Whether a request with the cookie or the secret was served.
        var isTrusted = false
    }

    private let limit: Int
    private let onFull: @Sendable (Int?) -> Void
    /// Whether `onFull` was told.
    private let isFull = Mutex(false)
    /// The oldest connection comes first.
    private let seats = Mutex<[Seat]>([])

    /// - Parameter onFull: called with the number of seats when the first connection had to be closed, and with `nil` when
    ///   half of the seats are free again.
    init(limit: Int, onFull: @escaping @Sendable (Int?) -> Void = { _ in }) {
        (self.limit, self.onFull) = (limit, onFull)
    }

    /// Registers a connection. At the limit, closes another one, or this one if all others are trusted.
    func arrive(_ channel: any Channel) {
        let leaving = seats.withLock { seats in
            seats.append(Seat(channel: channel))
            guard seats.count > limit, let oldest = seats.firstIndex(where: { !$0.isTrusted }) else {
                return nil as (any Channel)?
            }
            // Closing takes a moment, and the next arrival must not pick the same connection.
            return seats.remove(at: oldest).channel
        }
        guard let leaving else { return }
        leaving.close(promise: nil)
        tell(isFull: true)
    }

    func leave(_ channel: any Channel) {
        let count = seats.withLock { seats in
            seats.removeAll { $0.channel === channel }
            return seats.count
        }
        if count <= limit / 2 { tell(isFull: false) }
    }

    private func tell(isFull now: Bool) {
        let isNews = isFull.withLock { isFull in
            defer { isFull = now }
            return isFull != now
        }
        if isNews { onFull(now ? limit : nil) }
    }

    /// Keeps a connection from now on.
    func trust(_ channel: any Channel) {
        seats.withLock { seats in
            if let index = seats.firstIndex(where: { $0.channel === channel }) { seats[index].isTrusted = true }
        }
    }
}
