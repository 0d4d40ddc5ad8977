import Synchronization

/// The requests of each user that are being received or answered, limited in number: each takes memory for its body.
///
/// Of a user's bodies in JSON, a few at a time are parsed, and received if they are large; the others follow in turn. So a
/// user with many requests holds up others only for that long.
final class RequestCounts: Sendable {
    /// An agent sends at most 32 at a time.
    static let most = 128
    /// How many JSON bodies of a user are received and parsed at a time.
    static let mostParsed = 4

    private struct User {
        var requests = 0
        var parsed = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let users = Mutex<[String: User]>([:])

    /// Counts a request until ``leave(_:)``. Throws a ``Refusal`` beyond the limit.
    func enter(_ user: String) throws(Refusal) {
        let hasEntered = users.withLock { users in
            guard users[user]?.requests ?? 0 < Self.most else { return false }
            users[user, default: User()].requests += 1
            return true
        }
        guard hasEntered else { throw .tooManyRequests }
    }

    func leave(_ user: String) {
        users.withLock { users in
            users[user]?.requests -= 1
            if users[user]?.requests == 0 { users[user] = nil }
        }
    }

    /// Waits for the turn of a request that has entered, and receives or parses its body.
    func inTurn<Value>(of user: String, _ work: () async throws -> Value) async rethrows -> Value {
        await begin(user)
        defer { end(user) }
        return try await work()
    }

    private func begin(_ user: String) async {
        await withCheckedContinuation { continuation in
            let isNow = users.withLock { users in
                guard users[user]?.parsed ?? 0 >= Self.mostParsed else {
                    users[user]?.parsed += 1
                    return true
                }
                users[user]?.waiting.append(continuation)
                return false
            }
            if isNow { continuation.resume() }
        }
    }

    /// Passes the turn on.
    private func end(_ user: String) {
        let next = users.withLock { users -> CheckedContinuation<Void, Never>? in
            guard users[user]?.waiting.isEmpty == false else {
                users[user]?.parsed -= 1
                return nil
            }
            return users[user]?.waiting.removeFirst()
        }
        next?.resume()
    }
}
