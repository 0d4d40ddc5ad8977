import Synchronization

/// Lets a few pieces of work of each user run at a time. The others follow in the order of their arrival, so a user with
/// much work holds up others only for that long.
final class Turns: Sendable {
    private struct Line {
        var running = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let most: Int
    private let lines = Mutex<[String: Line]>([:])

    /// - Parameter most: How many pieces of work of a user run at a time.
    init(most: Int) {
        self.most = most
    }

    /// Waits for its turn, then does the work.
    func inTurn<Value>(of user: String, _ work: () async throws -> Value) async rethrows -> Value {
        await begin(user)
        defer { end(user) }
        return try await work()
    }

    private func begin(_ user: String) async {
        await withCheckedContinuation { continuation in
            let isNow = lines.withLock { lines in
                guard lines[user]?.running ?? 0 >= most else {
                    lines[user, default: Line()].running += 1
                    return true
                }
                lines[user]?.waiting.append(continuation)
                return false
            }
            if isNow { continuation.resume() }
        }
    }

    /// Passes the turn on.
    private func end(_ user: String) {
        let next = lines.withLock { lines -> CheckedContinuation<Void, Never>? in
            guard lines[user]?.waiting.isEmpty == false else {
                lines[user]?.running -= 1
                if lines[user]?.running == 0 { lines[user] = nil }
                return nil
            }
            return lines[user]?.waiting.removeFirst()
        }
        next?.resume()
    }
}
