/// A file that a client announced for upload.
struct UploadPlan: Equatable, Sendable {
    /// The protocol's fixed fragment size, in bytes.
    static let blockSize: Int64 = 524_288

    let user: String
    let size: Int64
    let md5: Hex128
    let fileName: String
    let path: String?
    /// A valid media type.
    let type: String
    /// Seconds since 1970.
    let modified: Int64?
    /// The SHA-256 of the whole content, if the client announced one.
    var sha256: Hex256?

    var blockCount: Int { Int((size + Self.blockSize - 1) / Self.blockSize) }

    /// Returns the offset of block `index` (from 0) in the file.
    func offset(of index: Int) -> Int64 { Int64(index) * Self.blockSize }

    func length(of index: Int) -> Int { Int(min(Self.blockSize, size - offset(of: index))) }

    var content: ContentKey { ContentKey(user: user, md5: md5, size: size) }
}

/// The key for finding a user's contents. Contents with forged MD5s may share a key, so the key does not identify a
/// content.
struct ContentKey: Hashable, Sendable {
    let user: String
    let md5: Hex128
    let size: Int64
}

/// Content that arrived completely and was verified.
struct Content: Equatable, Sendable {
    let key: ContentKey
    /// The secret part of the content's URL.
    let token: Hex128
    let object: ObjectName
    let name: String
    let type: String
    /// The SHA-256 of the bytes; nil until a client asks for it.
    var sha256: Hex256?
    /// When the content was stored, in seconds since 1970; nil if an older version stored it.
    var at: Int64?
    /// Where the content was wanted and linked, unless only under its ``name``. Owners may have renamed and moved the
    /// links. Empty if an older version stored the content.
    var paths = ArrivalPaths()

    /// Records paths below `files/USER/`, such as `trip/beach.jpg` and, because this name was taken,
    /// `trip/beach (2).jpg`. Returns false if all are known.
    mutating func add(paths new: [some StringProtocol]) -> Bool {
        paths.add(new.filter { !$0.utf8.elementsEqual(name.utf8) })
    }

    /// Whether the content is known to have another SHA-256.
    func contradicts(_ sha256: Hex256?) -> Bool {
        guard let known = self.sha256, let sha256 else { return false }
        return known != sha256
    }
}

/// The file below `objects/` that holds a content. The variant is 0 unless the name was taken: by another content
/// with this MD5, or by another user's copy.
struct ObjectName: Hashable, Sendable {
    let md5: Hex128
    let variant: Int

    var folder: String { String(md5.description.prefix(2)) }
    var file: String { variant == 0 ? md5.description : "\(md5).\(variant)" }
    var path: String { "\(folder)/\(file)" }
}

/// A committed source: one revision of a post.
struct Commit: Equatable, Sendable {
    /// A source belongs to one user: equal ids of different users name different sources.
    struct Source: Hashable, Sendable {
        let user: String
        let id: String
    }

    let source: Source
    /// The revision, from 1. A later revision replaces all earlier ones.
    let revision: Int
    /// The secret part of the post's URL, the same for all revisions.
    var token: Hex128
    let title: String
    let createDate: String
    /// The tokens of the contents, in commit order.
    let cover: Hex128?
    let contents: [Hex128]
    /// The digests of the accepted requests, with their revisions, oldest first. Fewer if an older version stored the
    /// commit.
    var requests: [Hex128] = []

    /// The most digests of requests that a post keeps.
    static let mostRequests = 50
}

/// One line of the journal. Times are seconds since 1970.
enum JournalEntry: Equatable, Sendable {
    /// The server issued an id.
    case opened(Hex128, UploadPlan, at: Int64)
    /// A block, counted from 0, is in the data file.
    case block(Hex128, Int)
    /// The received bytes are not the announced content; the server forgot all blocks.
    case reset(Hex128)
    case content(Content)
    /// The upload with this id is finished; its content has this token.
    case finished(Hex128, user: String, content: Hex128, at: Int64)
    /// The server forgot the id.
    case forgotten(Hex128)
    case committed(Commit)
    /// The owner removed the post with this token.
    case removed(Hex128)
    /// The user's portrait is the picture with this token; its size is 0 if an older version stored it.
    case portrait(Hex128, user: String, at: Int64, size: Int64)
}
