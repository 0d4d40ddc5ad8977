/// Which addresses of a host a request was kept from.
struct PeerLog {
    private var wasAllowed = false
    private var firstRefused: String?

    /// The first address that was refused, where none was allowed: another one may have failed for reasons of its own.
    var refused: String? { wasAllowed ? nil : firstRefused }

    /// Notes what was said of an address.
    ///
    /// - Returns: `isAllowed`.
    mutating func note(_ address: String, isAllowed: Bool) -> Bool {
        if isAllowed {
            wasAllowed = true
        } else {
            firstRefused = firstRefused ?? address
        }
        return isAllowed
    }
}
