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
    private var cookies = PathMap<UInt32>()
    /// Every departure has the same patience, so departures expire in order of arrival. The first is always pending.
    private var order: ArraySlice<UInt32> = []

    /// When the oldest departure expires.
    var deadline: MonotonicTime? { order.first.flatMap { departures[$0]?.deadline } }

    /// Records a first half.
    mutating func depart(_ departure: Departure, cookie: UInt32, now: MonotonicTime) {
        departures[cookie] = (departure, now + Self.patience)
        cookies[departure.path] = cookie
        order.append(cookie)
    }

    /// Removes and returns the first half with the cookie of a second half.
    mutating func arrive(cookie: UInt32) -> Departure? {
        guard let (departure, _) = departures.removeValue(forKey: cookie) else { return nil }
        if cookies[departure.path] == cookie { cookies.removeValue(forKey: departure.path) }
        while let first = order.first, departures[first] == nil { order.removeFirst() }
        return departure
    }

    /// Removes and returns the departure from a path, because a new file or directory has taken the name.
    mutating func giveUp(on path: RelativePath) -> Departure? {
        if cookies.isEmpty { return nil }
        return cookies[path].flatMap { arrive(cookie: $0) }
    }

    /// Removes and returns the departures from a directory and from below it, because it is no longer there.
    mutating func giveUp(within directory: RelativePath) -> [Departure] {
        if cookies.isEmpty { return [] }
        return cookies.paths(within: directory).compactMap { giveUp(on: $0) }
    }

    /// Follows the rename of a directory: what departed from below its old name is known below its new name.
    ///
    /// - Returns: the departures from a directory that had the new name before, removed.
    mutating func move(from old: RelativePath, to new: RelativePath) -> [Departure] {
        let displaced = giveUp(within: new)
        if cookies.isEmpty { return displaced }
        for path in cookies.paths(within: old) {
            guard let moved = path.moved(from: old, to: new), let cookie = cookies.removeValue(forKey: path) else {
                continue
            }
            departures[cookie]?.departure.path = moved
            cookies[moved] = cookie
        }
        return displaced
    }

    /// Removes and returns the departures whose second half did not come in time, the oldest first.
    mutating func expired(now: MonotonicTime) -> [Departure] {
        var result: [Departure] = []
        while let cookie = order.first, let deadline, deadline <= now, let oldest = arrive(cookie: cookie) {
            result.append(oldest)
        }
        return result
    }
}
