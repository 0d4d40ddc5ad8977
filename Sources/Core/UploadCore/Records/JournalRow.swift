/// One outcome, as the ledger's journal keeps it: what became of a file, a profile picture or a post, and when.
public struct JournalRow: Equatable, Sendable {
    /// What a row is about.
    public enum Subject: UInt8, Sendable {
        case file = 0
        /// A profile picture.
        case portrait = 1
        case post = 2
        /// The agent itself: it has nothing left to do, or trouble begins or ends.
        case agent = 3
    }

    /// What became of the subject. Never change these numbers: the ledger stores them.
    public enum Outcome: UInt8, CaseIterable, Sendable {
        case done = 0
        case failed = 1
        case cancelled = 2
        case rejected = 3
        /// Nothing is left to upload.
        case idle = 4
        /// Something needs a person.
        case trouble = 5
        /// All trouble is over.
        case recovered = 6
    }

    /// What was sent in place of a file (`media.compress_images` and the like).
    public struct Sent: Equatable, Sendable {
        /// The content's key.
        public var key: ContentKey
        /// Bytes.
        public var size: UInt64
        /// The media type, such as `image/jpeg`.
        public var type: String

        /// Creates the description of what was sent.
        public init(key: ContentKey, size: UInt64, type: String) {
            (self.key, self.size, self.type) = (key, size, type)
        }
    }

    /// When it happened.
    public var time: WallTime
    /// What it happened to.
    public var subject: Subject
    /// What happened.
    public var outcome: Outcome
    /// The path then: of the file, or of the post's directory; the root for the agent itself.
    public var path: RelativePath
    /// The file's own content; nil while unknown.
    public var key: ContentKey?
    /// The file's own size in bytes; nil while unknown.
    public var size: UInt64?
    /// The file's own media type; empty while unknown.
    public var type = ""
    /// What was sent in place of the file; nil if the file itself was.
    public var sent: Sent?
    /// Why; nil if all is well.
    public var error: FileError?
    /// The server's names.
    public var remote = RemoteObject(id: nil, url: nil)
    /// The SHA-256 of what was sent, if known.
    public var sha256: StrongDigest?
    /// Whether nothing was sent, because the server had the content.
    public var isDeduplicated = false
    /// When the file came; nil for all others.
    public var taken: WallTime?
    /// The revision of a post; 0 for all others.
    public var revision = 0

    /// Creates a row without details.
    public init(time: WallTime, subject: Subject, outcome: Outcome, path: RelativePath) {
        (self.time, self.subject, self.outcome, self.path) = (time, subject, outcome, path)
    }
}

extension JournalRow {
    /// The row for a path that reached a final state; nil if its state is not final.
    package init?(_ record: DropRecord, isPortrait: Bool, sha256: StrongDigest? = nil) {
        guard let outcome = Outcome(record.state), let time = record.finishedAt else { return nil }
        self.init(time: time, subject: isPortrait ? .portrait : .file, outcome: outcome, path: record.path)
        key = record.originalKey
        size = record.identity?.size
        type = record.type?.mime ?? ""
        taken = record.acceptedAt
        if let made = record.product?.made, let key = record.key {
            sent = Sent(key: key, size: made.size, type: made.type.mime)
        }
        error = record.error
        if outcome == .done {
            remote = record.remote ?? remote
            isDeduplicated = record.deduplicated
            self.sha256 = sha256
        }
    }

    /// The row for a post that reached a final state; nil if its state is not final.
    package init?(_ record: SourceRecord) {
        let end: (Outcome, FileError?)? =
            switch record.stage {
            case .draft, .collecting, .uploading, .committing: nil
            case .done: (.done, nil)
            case .failed(let error): (.failed, error)
            case .cancelled(let error): (.cancelled, error)
            case .rejected(let error): (.rejected, error)
            }
        guard let (outcome, error) = end, let time = record.finishedAt else { return nil }
        self.init(time: time, subject: .post, outcome: outcome, path: record.directory)
        self.error = error
        remote = RemoteObject(id: record.id, url: outcome == .done ? record.post?.url : nil)
        revision = outcome == .done ? record.post?.revision ?? 0 : record.revision
    }
}

extension JournalRow.Outcome {
    /// The outcome for a final state; nil for all others.
    public init?(_ state: FileState) {
        switch state {
        case .done: self = .done
        case .failed: self = .failed
        case .cancelled: self = .cancelled
        case .rejected: self = .rejected
        case .settling, .hashing, .processing, .queued, .uploading, .verifying, .waiting, .paused, .signedOut:
            return nil
        }
    }

    /// The final state with this outcome; nil for what becomes of the agent itself.
    public var state: FileState? { FileState.allCases.first { Self($0) == self } }

    /// The word in texts and JSON.
    public var word: String { "\(self)" }

    /// Parses a word; nil for an unknown one.
    public init?(word: String) {
        guard let outcome = Self.allCases.first(where: { $0.word == word }) else { return nil }
        self = outcome
    }
}

/// A row of the journal with its number, and where the file is now.
public struct JournalEntry: Equatable, Sendable {
    /// From 1, ascending in the order of the commits.
    public var number: UInt64
    /// What the journal says.
    public var row: JournalRow
    /// The path that the file has had since; nil while it keeps its own.
    public var place: RelativePath?

    /// Creates an entry.
    public init(number: UInt64, row: JournalRow, place: RelativePath? = nil) {
        (self.number, self.row, self.place) = (number, row, place)
    }
}
