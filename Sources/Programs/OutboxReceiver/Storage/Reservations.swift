/// The space promised to open uploads and not yet filled.
///
/// A promise is no guarantee: every fragment checks the free space again. Promises only prevent uploads that cannot
/// be finished. Two rules prevent one user from starving the others:
///
/// - Promises to others take at most half of the free space from a user.
/// - A promise lapses if its upload receives no byte for ``patience`` seconds, until the next fragment arrives.
struct Reservations: Sendable {
    static let patience: Int64 = 600

    private struct Promise {
        let user: String
        var missing: Int64
        var hasLapsed = false
    }

    private var promises: [Hex128: Promise] = [:]
    /// The promised bytes that have not lapsed, by user.
    private var totals: [String: Int64] = [:]
    private var total: Int64 = 0

    /// Returns how many bytes the user may be promised now.
    /// - Parameter free: The free space above the floor.
    func space(for user: String, free: Int64) -> Int64 {
        let own = totals[user, default: 0]
        return free - own - min(total - own, max(free, 0) / 2)
    }

    mutating func promise(_ bytes: Int64, to id: Hex128, of user: String) {
        release(id)
        promises[id] = Promise(user: user, missing: bytes)
        count(bytes, of: user)
    }

    /// Counts received bytes of an upload; a negative count means forgotten bytes.
    mutating func receive(_ bytes: Int64, for id: Hex128) {
        guard var promise = promises[id] else { return }
        count(promise.hasLapsed ? promise.missing - bytes : -bytes, of: promise.user)
        promise.missing -= bytes
        promise.hasLapsed = false
        promises[id] = promise
    }

    mutating func lapse(_ id: Hex128) {
        guard let promise = promises[id], !promise.hasLapsed else { return }
        count(-promise.missing, of: promise.user)
        promises[id]?.hasLapsed = true
    }

    /// Drops the promise after the end of the upload.
    mutating func release(_ id: Hex128) {
        lapse(id)
        promises[id] = nil
    }

    private mutating func count(_ bytes: Int64, of user: String) {
        total += bytes
        let sum = totals[user, default: 0] + bytes
        totals[user] = sum == 0 ? nil : sum
    }
}
