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

    private struct Claim {
        var key: String
        /// The id of the upload that becomes the object; nil if the upload has none yet.
        var upload: String?
        /// Whether this run created the upload.
        var isOfThisRun = false
    }

    private struct State {
        var owners: [String: ContentKey] = [:]
        var claims: [ContentKey: Claim] = [:]
    }

    private let state = Mutex(State())

    /// Claims the key of an object for a content. A new claim ends the content's earlier one.
    ///
    /// - Parameter upload: the id of the upload that becomes the object; nil before the store gave one.
    @discardableResult
    func claim(_ key: String, for content: ContentKey, upload: String? = nil) -> Answer {
        state.withLock { state in
            let owner = state.owners[key]
            if owner == content, upload != nil, state.claims[content]?.upload == upload { return .held }
            if let owner, owner != content { return .refused }
            if let old = state.claims[content] { state.owners[old.key] = nil }
            state.owners[key] = content
            state.claims[content] = Claim(key: key, upload: upload)
            return owner == nil ? .new : .held
        }
    }

    /// Names the upload that this run created for a content with a claim.
    func created(_ upload: String, of content: ContentKey) {
        state.withLock { state in
            state.claims[content]?.upload = upload
            state.claims[content]?.isOfThisRun = true
        }
    }

    /// Whether this run created an upload of a content.
    func hasCreated(_ upload: String, of content: ContentKey) -> Bool {
        state.withLock { $0.claims[content].map { $0.isOfThisRun && $0.upload == upload } ?? false }
    }

    /// Ends a content's claim.
    func release(_ content: ContentKey) {
        state.withLock { state in
            if let claim = state.claims.removeValue(forKey: content) { state.owners[claim.key] = nil }
        }
    }

    /// Ends the claim to a key, if it is that of this upload.
    ///
    /// - Returns: the content that held the claim; nil if none did.
    func release(key: String, upload: String) -> ContentKey? {
        state.withLock { state in
            guard let content = state.owners[key], state.claims[content]?.upload == upload else { return nil }
            state.owners[key] = nil
            state.claims[content] = nil
            return content
        }
    }
}
