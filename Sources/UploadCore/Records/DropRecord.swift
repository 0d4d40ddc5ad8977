/// What the ledger keeps of one path in the outbox.
public struct DropRecord: Equatable, Sendable {
    /// Where the file is, relative to the outbox.
    public var path: RelativePath
    /// The file the key was computed from; nil before that.
    public var identity: FileIdentity?
    /// The content's key; nil before it is known.
    public var key: ContentKey?
    /// The state the path was last known in. Of the states on the way, only what survives a restart is stored: a path
    /// with a key is `queued` or `paused`, everything else is found again by the scan.
    public var state: FileState
    /// Type, as told by magic bytes; nil before it is known or where it is not.
    public var type: MediaType?
    /// Size and length of a picture or video; nil before it was measured.
    public var facts: MediaFacts?
    /// Whether nothing more is to be learned or drawn of the content: it was measured and its thumbnail made, or they
    /// can't be had.
    public var isExamined = false
    /// Whether nothing was sent for this path because the content was on its way, or there, already.
    public var deduplicated: Bool
    /// Why the path is where it is.
    public var error: FileError?
    /// The server's id and address of the content, for a path that is done.
    public var remote: RemoteObject?
    /// How many attempts were begun for it, the first included; 0 where none was.
    public var attempts: Int
    /// When the path was first seen.
    public var acceptedAt: WallTime
    /// When its first fragment was sent.
    public var startedAt: WallTime?
    /// When it reached a final state.
    public var finishedAt: WallTime?

    /// Whose it is: who was signed in when it was dropped, by name; empty where nobody was; nil where nobody ever had.
    public var account: String?

    /// What became, or is to become, of the file after its upload; nil where it stays.
    public var disposal: Disposal?

    /// What `state` does not tell and a restart must not lose.
    public var flags: Flags = []

    /// A path just seen.
    public init(path: RelativePath, state: FileState, acceptedAt: WallTime) {
        self.path = path
        self.state = state
        self.acceptedAt = acceptedAt
        deduplicated = false
        attempts = 0
    }
}

extension DropRecord {
    /// Facts about a path beside its state.
    public struct Flags: OptionSet, Hashable, Sendable {
        /// The bits, as the ledger stores them.
        public let rawValue: UInt8

        /// The user moved the file to the head of the queue before its content was known.
        public static let first = Flags(rawValue: 1)
        /// The user cancelled the file while it was being written: the content it has at rest is cancelled.
        public static let cancelledEarly = Flags(rawValue: 2)
        /// The user cancelled the file, and it has been gone for long enough to count as removed.
        public static let fileIsGone = Flags(rawValue: 4)

        /// Takes a set of bits over.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }
    }

    /// Whether the user gave the file up. It stays so under any name.
    public var isCancelledByUser: Bool { state == .cancelled && error?.code == "cancelled" }

    /// Whether the file was given up only because it was removed. A file that is there again is taken again.
    public var wasRemoved: Bool { state == .cancelled && error?.code == "removed" }
}

/// What happens to a file on the word of the server that its content is safe (`intake.after_upload`).
public enum Disposal: Hashable, Sendable {
    /// It is to be moved or deleted.
    case pending
    /// It was moved here from another path.
    case moved(from: RelativePath)
    /// It was moved away; the record tells those who ask for its old path.
    case movedAway(to: RelativePath)
    /// It was deleted; the record outlives it for a while.
    case deleted
}

/// What the server calls a content.
public struct RemoteObject: Hashable, Sendable {
    /// The server's id of the upload.
    public var id: String?
    /// Where the content can be had, if the server says so.
    public var url: String?

    /// Puts an object's names together.
    public init(id: String?, url: String?) {
        self.id = id
        self.url = url
    }
}
