import UploadCore

/// Counts bytes of fragments in flight that the peer of the connection acknowledged, but the server did not confirm
/// yet. For display only.
struct BytesInFlight: Sendable {
    private struct Fragment {
        var key: ContentKey
        var length: UInt64
        var isStream: Bool
        var bytes: UInt64 = 0
        /// The highest value of `bytes` so far. The speed meter has counted these bytes already.
        var most: UInt64 = 0
    }

    private var fragments: [RequestID: Fragment] = [:]

    /// Starts counting a fragment.
    ///
    /// - Parameters:
    ///   - length: number of bytes to send.
    ///   - isStream: whether the bytes count as progress already, so that `sum` leaves them out.
    mutating func begin(_ id: RequestID, _ key: ContentKey, of length: UInt64, isStream: Bool = false) {
        fragments[id] = Fragment(key: key, length: length, isStream: isStream)
    }

    /// Returns the number of bytes that a request sends; `nil` without a request.
    func length(of id: RequestID) -> UInt64? { fragments[id]?.length }

    /// Updates how many bytes a request has transferred. The number shrinks when the fragment is sent again on
    /// another connection.
    ///
    /// - Returns: the content, and the bytes not counted before. `nil` if nothing changed.
    mutating func reach(_ bytes: UInt64, by id: RequestID) -> (key: ContentKey, gain: UInt64)? {
        guard var fragment = fragments[id] else { return nil }
        let bytes = min(bytes, fragment.length)
        guard bytes != fragment.bytes else { return nil }
        let gain = bytes > fragment.most ? bytes - fragment.most : 0
        fragment.bytes = bytes
        fragment.most += gain
        fragments[id] = fragment
        return (fragment.key, gain)
    }

    /// Returns the bytes of a request that the speed meter has already counted.
    func measured(by id: RequestID) -> UInt64 { fragments[id]?.most ?? 0 }

    /// Stops counting, because the server answered or the request was given up.
    mutating func end(_ id: RequestID) { fragments[id] = nil }

    /// Returns the sum over all fragments of a content.
    func sum(of key: ContentKey) -> UInt64 {
        fragments.values.reduce(0) { $0 + ($1.key == key && !$1.isStream ? $1.bytes : 0) }
    }
}
