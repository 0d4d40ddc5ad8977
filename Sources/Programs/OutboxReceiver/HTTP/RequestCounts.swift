import Synchronization

/// The requests of each user that are being received or answered, limited in number: each takes memory for its body.
final class RequestCounts: Sendable {
    /// An agent sends at most 32 at a time.
    static let most = 128

    /// Of a user's bodies in JSON, two at a time are decoded, and received if they are large.
    let bodies = Turns(most: 2)

    /// Of a user's messages, a few at a time are carried out.
    let work = Turns(most: mostWork)
    static let mostWork = 4

    /// Pages are made one at a time of each line: of an owner's own page, and of an owner's posts.
    let pages = Turns(most: 1)
    /// So many requests for pages wait in a line, and as many for small pictures. Requests of closed connections wait too.
    static let mostWaiting = 64

    private let counts = Mutex<[String: Int]>([:])

    /// Counts a request until ``leave(_:)``. Throws a ``Refusal`` beyond the limit.
    func enter(_ user: String) throws(Refusal) {
        let hasEntered = counts.withLock { counts in
            guard counts[user, default: 0] < Self.most else { return false }
            counts[user, default: 0] += 1
            return true
        }
        guard hasEntered else { throw .tooManyRequests }
    }

    func leave(_ user: String) {
        counts.withLock { counts in
            let count = counts[user, default: 0] - 1
            counts[user] = count > 0 ? count : nil
        }
    }
}
