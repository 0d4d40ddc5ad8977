import UploadCore

/// Bytes of fragments under way that the other end of the connection has acknowledged, and the server not yet: for display
/// alone.
struct BytesInFlight: Sendable {
    private struct Fragment {
        var key: ContentKey
        var length: UInt64
        var bytes: UInt64 = 0
        /// The most there ever was, which is what was measured as speed.
        var most: UInt64 = 0
    }

    private var fragments: [RequestID: Fragment] = [:]

    /// A fragment begins.
    ///
    /// - Parameter length: its bytes.
    mutating func begin(_ id: RequestID, _ key: ContentKey, of length: UInt64) {
        fragments[id] = Fragment(key: key, length: length)
    }

    /// Takes in how far a request has got; it may go back where the fragment is sent anew on another connection.
    ///
    /// - Returns: the content and how many bytes are new; nil where nothing changed.
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

    /// Bytes of a request that were counted as they went.
    func measured(by id: RequestID) -> UInt64 { fragments[id]?.most ?? 0 }

    /// The server has answered, or the request was given up.
    mutating func end(_ id: RequestID) { fragments[id] = nil }

    /// The sum over all fragments of a content.
    func sum(of key: ContentKey) -> UInt64 {
        fragments.values.reduce(0) { $0 + ($1.key == key ? $1.bytes : 0) }
    }
}
