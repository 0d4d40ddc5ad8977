import UploadCore

/// Pairs the two halves of a rename, which share a cookie (man 7 inotify, "Dealing with rename() events").
///
/// The second half usually follows at once, but other events may come in between. For a file moved out of the watched
/// tree, no second half follows.
struct MovePairing {
    /// The first half: a name that disappeared.
    struct Departure: Equatable {
        var path: RelativePath
        var isDirectory: Bool
    }

    /// How long to wait for the second half.
    static let patience: Duration = .milliseconds(50)

    private var departures: [UInt32: (departure: Departure, deadline: MonotonicTime)] = [:]
    private var cookies: [RelativePath: UInt32] = [:]
    // Every departure has the same patience, so departures expire in order of arrival.
    private var order: [UInt32] = []

    /// When the oldest departure expires.
    var deadline: MonotonicTime? {
        order.lazy.compactMap { departures[$0]?.deadline }.first
    }

    /// Records a first half.
    mutating func depart(_ departure: Departure, cookie: UInt32, now: MonotonicTime) {
        departures[cookie] = (departure, now + Self.patience)
        cookies[departure.path] = cookie
        order.append(cookie)
    }

    /// Removes and returns the first half with the cookie of a second half.
    mutating func arrive(cookie: UInt32) -> Departure? {
        guard let (departure, _) = departures.removeValue(forKey: cookie) else { return nil }
        cookies[departure.path] = nil
        trim()
        return departure
    }

    /// Removes and returns the departure from a path, because a new file or directory has taken the name.
    mutating func giveUp(on path: RelativePath) -> Departure? {
        if cookies.isEmpty { return nil }
        return cookies[path].flatMap { arrive(cookie: $0) }
    }

    /// Follows the rename of a directory: what departed from below the old name is known below the new one. What departed
    /// from a directory with the new name is gone with that directory.
    mutating func move(from old: RelativePath, to new: RelativePath) {
        for (cookie, var entry) in departures {
            let path = entry.departure.path
            if path.isWithin(new) {
                _ = arrive(cookie: cookie)
            } else if let moved = path.moved(from: old, to: new) {
                entry.departure.path = moved
                departures[cookie] = entry
                cookies[path] = nil
                cookies[moved] = cookie
            }
        }
    }

    /// Removes and returns the departures whose second half did not come in time, the oldest first.
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
