/// Records the addresses of a host that a request was not allowed to use.
struct PeerLog {
    private var wasAllowed = false
    private var firstRefused: String?

    /// The first refused address if no address was allowed; nil otherwise, since an allowed address may have failed
    /// for another reason.
    var refused: String? { wasAllowed ? nil : firstRefused }

    /// Records the decision about an address.
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
