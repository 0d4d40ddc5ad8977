import Synchronization
import UploadCore

/// Which content may write which object, among those of this run: a template may give several contents one key, and not
/// every store keeps objects from being overwritten.
///
/// A content claims a key when it is registered, and holds the claim until its upload is finished or removed. A content
/// holds at most one claim. Contents of an earlier run claim their keys with their first request.
final class KeyClaims: Sendable {
    /// The answer to a claim.
    enum Answer: Equatable, Sendable {
        /// The content held the claim before.
        case held
        /// The content holds the claim from now on.
        case new
        /// Another content holds the claim.
        case refused
    }

    private struct State {
        var owners: [String: ContentKey] = [:]
        var keys: [ContentKey: String] = [:]
    }

    private let state = Mutex(State())

    /// Claims the key of an object for a content. A new claim ends the content's earlier one.
    @discardableResult
    func claim(_ key: String, for content: ContentKey) -> Answer {
        state.withLock { state in
            if let owner = state.owners[key] { return owner == content ? .held : .refused }
            if let old = state.keys[content] { state.owners[old] = nil }
            state.owners[key] = content
            state.keys[content] = key
            return .new
        }
    }

    /// Ends a content's claim.
    func release(_ content: ContentKey) {
        state.withLock { state in
            if let key = state.keys.removeValue(forKey: content) { state.owners[key] = nil }
        }
    }

    /// Ends the claim to a key.
    ///
    /// - Returns: the content that held the claim; nil if none did.
    @discardableResult
    func release(key: String) -> ContentKey? {
        state.withLock { state in
            guard let content = state.owners.removeValue(forKey: key) else { return nil }
            state.keys[content] = nil
            return content
        }
    }
}
