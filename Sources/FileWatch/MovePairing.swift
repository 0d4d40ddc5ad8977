import UploadCore

/// Brings the two halves of a rename together, which share a cookie (man 7 inotify, "Dealing with rename() events").
///
/// The second half usually follows at once, but other events may come between, and it never comes for what was moved
/// out of the watched tree.
struct MovePairing {
    /// The first half: a name that went away.
    struct Departure: Equatable {
        var path: RelativePath
        var isDirectory: Bool
    }

    /// How long the second half is waited for.
    static let patience: Duration = .milliseconds(50)

    private var departures: [UInt32: (departure: Departure, deadline: MonotonicTime)] = [:]
    private var cookies: [RelativePath: UInt32] = [:]
    // Every departure has the same patience, so they expire in the order they came in.
    private var order: [UInt32] = []

    /// When the oldest departure is given up.
    var deadline: MonotonicTime? {
        order.lazy.compactMap { departures[$0]?.deadline }.first
    }

    /// Remembers a first half.
    mutating func depart(_ departure: Departure, cookie: UInt32, now: MonotonicTime) {
        departures[cookie] = (departure, now + Self.patience)
        cookies[departure.path] = cookie
        order.append(cookie)
    }

    /// The first half that belongs to a second one.
    mutating func arrive(cookie: UInt32) -> Departure? {
        guard let (departure, _) = departures.removeValue(forKey: cookie) else { return nil }
        cookies[departure.path] = nil
        trim()
        return departure
    }

    /// Gives up on the departure from a path, because something else bears its name now.
    mutating func giveUp(on path: RelativePath) -> Departure? {
        if cookies.isEmpty { return nil }
        return cookies[path].flatMap { arrive(cookie: $0) }
    }

    /// The departures whose second half did not come in time, the oldest first.
    mutating func expired(now: MonotonicTime) -> [Departure] {
        var result: [Departure] = []
        while let cookie = order.first(where: { departures[$0] != nil }), let oldest = departures[cookie],
            oldest.deadline <= now
        {
            result.append(oldest.departure)
            _ = arrive(cookie: cookie)
        }
        return result
    }

    private mutating func trim() {
        if departures.isEmpty { order.removeAll(keepingCapacity: true) }
    }
}
