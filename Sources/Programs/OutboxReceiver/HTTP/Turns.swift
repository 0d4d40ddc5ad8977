import Synchronization

/// Lets a few pieces of work of each user run at a time. The others follow in the order of their arrival, so a user with
/// much work holds up others only for that long.
final class Turns: Sendable {
    private struct Line {
        var running = 0
        var waiting: [CheckedContinuation<Bool, Never>] = []
    }

    private let most: Int
    private let lines = Mutex<[String: Line]>([:])

    /// - Parameter most: How many pieces of work of a user run at a time.
    init(most: Int) {
        self.most = most
    }

    /// How many users have work that runs or waits.
    var userCount: Int { lines.withLock(\.count) }

    /// Waits for its turn, then does the work.
    func inTurn<Value, Failure: Error>(
        of user: String, _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        _ = await begin(user, mostWaiting: .max)
        defer { end(user) }
        return try await work()
    }

    /// Waits for its turn, then does the work.
    /// - Parameters:
    ///   - mostWaiting: Throws ``Refusal/busy`` if so many pieces of work of the user wait already.
    ///   - isWanted: Called when the turn has come. If it returns false, throws ``Refusal/busy`` instead of doing the work.
    func inTurn<Value>(
        of user: String, mostWaiting: Int, while isWanted: () -> Bool = { true }, _ work: () async throws -> Value
    ) async throws -> Value {
        guard await begin(user, mostWaiting: mostWaiting) else { throw Refusal.busy }
        defer { end(user) }
        guard isWanted() else { throw Refusal.busy }
        return try await work()
    }

    /// Returns false if too many wait.
    private func begin(_ user: String, mostWaiting: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            let hasBegun = lines.withLock { lines -> Bool? in
                guard let line = lines[user], line.running >= most else {
                    lines[user, default: Line()].running += 1
                    return true
                }
                guard line.waiting.count < mostWaiting else { return false }
                lines[user]?.waiting.append(continuation)
                return nil
            }
            if let hasBegun { continuation.resume(returning: hasBegun) }
        }
    }

    /// Passes the turn on.
    private func end(_ user: String) {
        let next = lines.withLock { lines -> CheckedContinuation<Bool, Never>? in
            guard lines[user]?.waiting.isEmpty == false else {
                lines[user]?.running -= 1
                if lines[user]?.running == 0 { lines[user] = nil }
                return nil
            }
            return lines[user]?.waiting.removeFirst()
        }
        next?.resume(returning: true)
    }
}
