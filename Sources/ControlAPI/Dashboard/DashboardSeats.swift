import NIOCore
import Synchronization

/// The open connections to the dashboard's address, limited in number.
///
/// At the limit, the oldest connection without a served request is closed, so that other users of the machine can't
/// keep the owner out.
final class DashboardSeats: Sendable {
    private struct Seat {
        let channel: any Channel
        /// Whether a request with the cookie or the secret was served.
        var isTrusted = false
    }

    private let limit: Int
    /// The oldest connection comes first.
    private let seats = Mutex<[Seat]>([])

    init(limit: Int) { self.limit = limit }

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
        leaving?.close(promise: nil)
    }

    func leave(_ channel: any Channel) {
        seats.withLock { seats in seats.removeAll { $0.channel === channel } }
    }

    /// Keeps a connection from now on.
    func trust(_ channel: any Channel) {
        seats.withLock { seats in
            if let index = seats.firstIndex(where: { $0.channel === channel }) { seats[index].isTrusted = true }
        }
    }
}
