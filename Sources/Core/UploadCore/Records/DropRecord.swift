/// The ledger's record of one path in the outbox.
public struct DropRecord: Equatable, Sendable {
    /// The file's path, relative to the outbox.
    public var path: RelativePath
    /// The file that the key was computed from; nil before the hash.
    public var identity: FileIdentity?
    /// The key of the content that is uploaded; nil while unknown.
    public var key: ContentKey?
    /// The last known state of the path. While the path is not in a final state, the ledger stores only what survives a
    /// restart: a path with a key is `queued` or `paused`, and the scan finds all others again.
    public var state: FileState
    /// The type according to the magic bytes; nil while unknown, or if the bytes match no known type.
    public var type: MediaType?
    /// Size and length of a picture or video; nil before the measurement.
    public var facts: MediaFacts?
    /// What a recipe made of the file; nil if the file's type has no recipe. If the recipe made a product, `key` is the
    /// product's.
    public var product: Product?
    /// Whether the content needs no further examination: its size and thumbnail are complete, or unobtainable.
    public var isExamined = false
    /// Whether nothing was sent for this path, because the content was already uploading or on the server.
    public var deduplicated: Bool
    /// Why the path is in this state.
    public var error: FileError?
    /// The server's id and address of the content, once the path is done.
    public var remote: RemoteObject?
    /// The number of attempts begun, including the first; 0 if none.
    public var attempts: Int
    /// When the path was first seen.
    public var acceptedAt: WallTime
    /// When the first fragment was sent.
    public var startedAt: WallTime?
    /// When the path reached a final state.
    public var finishedAt: WallTime?

    /// The owner: the account signed in when the file was dropped. Empty if nobody was signed in; nil if nobody ever
    /// had been.
    public var account: String?

    /// The file's fate after its upload; nil if the file stays.
    public var disposal: Disposal?

    /// Facts that `state` does not express and that a restart must keep.
    public var flags: Flags = []

    /// Creates the record of a path just seen.
    public init(path: RelativePath, state: FileState, acceptedAt: WallTime) {
        self.path = path
        self.state = state
        self.acceptedAt = acceptedAt
        deduplicated = false
        attempts = 0
    }
}

extension DropRecord {
    /// The MD5 of the file's own bytes; nil while unknown.
    public var originalKey: ContentKey? { product?.original ?? key }

    /// Facts about a path besides its state.
    public struct Flags: OptionSet, Hashable, Sendable {
        /// The bits, as the ledger stores them.
        public let rawValue: UInt8

        /// The user moved the file to the head of the queue before its content was known.
        public static let first = Flags(rawValue: 1)
        /// The user cancelled the file while it was being written. The cancellation applies to the settled content.
        public static let cancelledEarly = Flags(rawValue: 2)
        /// The user cancelled the file, and its removal is confirmed.
        public static let fileIsGone = Flags(rawValue: 4)

        /// The server is asked whether it still has the confirmed content. Until it says no, the ledger has no upload of
        /// the content.
        public static let verifying = Flags(rawValue: 8)

        /// Creates a set from its bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }
    }

    /// Whether the user cancelled the file, or dismissed it after it failed. A rename does not change this.
    public var isCancelledByUser: Bool { state == .cancelled && ["cancelled", "dismissed"].contains(error?.code) }

    /// Whether the agent must know the path from its start, before the queue or a scan leads to the path: the user's wish
    /// applies to it, it has no owner, or the ledger has no upload of it. The ledger keeps an index of these paths, so a
    /// change of this rule needs a new format (`LedgerSchema`).
    package var isNeededAtStart: Bool {
        if isCancelledByUser || !flags.subtracting(.verifying).isEmpty { return true }
        if state.isFinal { return false }
        return state != .queued || key == nil || account == Ownership.nobody || flags.contains(.verifying)
    }

    /// Whether the file was cancelled only because of its removal. If the file reappears, the agent accepts it again.
    public var wasRemoved: Bool { state == .cancelled && error?.code == "removed" }
}

/// The fate of a file whose content the server has confirmed (`intake.after_upload`).
public enum Disposal: Hashable, Sendable {
    /// The file must still be moved or deleted.
    case pending
    /// The file was moved here from another path.
    case moved(from: RelativePath)
    /// The file was moved to another path. The record leads from the old path to the new one.
    case movedAway(to: RelativePath)
    /// The file was deleted. The record stays for a while.
    case deleted
}

/// The server's names for a content.
public struct RemoteObject: Hashable, Sendable {
    /// The server's id of the upload.
    public var id: String?
    /// The address of the content, if the server returns it.
    public var url: String?

    /// Creates an object from its names.
    public init(id: String?, url: String?) {
        self.id = id
        self.url = url
    }
}
