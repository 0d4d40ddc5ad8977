/// What a client said it will upload.
struct UploadPlan: Equatable, Sendable {
    /// The protocol's one and only fragment size.
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
    /// Of the whole content, where the client announced it.
    var sha256: Hex256?

    var blockCount: Int { Int((size + Self.blockSize - 1) / Self.blockSize) }

    /// Where block `index` (from 0) begins.
    func offset(of index: Int) -> Int64 { Int64(index) * Self.blockSize }

    func length(of index: Int) -> Int { Int(min(Self.blockSize, size - offset(of: index))) }

    var content: ContentKey { ContentKey(user: user, md5: md5, size: size) }
}

/// What a user's contents are looked up by. Forged contents may share one, so it does not tell them apart.
struct ContentKey: Hashable, Sendable {
    let user: String
    let md5: Hex128
    let size: Int64
}

/// Content that arrived whole and verified.
struct Content: Equatable, Sendable {
    let key: ContentKey
    /// The secret part of its URL.
    let token: Hex128
    let object: ObjectName
    let name: String
    let type: String
    /// Of its bytes; nil until a client asks for it.
    var sha256: Hex256?

    /// Whether these can't be the bytes with that SHA-256.
    func contradicts(_ sha256: Hex256?) -> Bool {
        guard let known = self.sha256, let sha256 else { return false }
        return known != sha256
    }
}

/// The file below `objects/` that holds some content. The variant is 0, unless another content with this MD5 was there
/// first, or another user's copy that is not compared yet.
struct ObjectName: Hashable, Sendable {
    let md5: Hex128
    let variant: Int

    var folder: String { String(md5.description.prefix(2)) }
    var file: String { variant == 0 ? md5.description : "\(md5).\(variant)" }
    var path: String { "\(folder)/\(file)" }
}

/// A source as it was committed: one revision of a post.
struct Commit: Equatable, Sendable {
    /// Sources of other users are other sources, whatever their ids.
    struct Source: Hashable, Sendable {
        let user: String
        let id: String
    }

    let source: Source
    /// From 1. A later one takes the place of those before.
    let revision: Int
    /// The secret part of the post's URL, the same for all revisions.
    var token: Hex128
    let title: String
    let createDate: String
    /// Tokens of contents, in the order they were committed in.
    let cover: Hex128?
    let contents: [Hex128]
}

/// One line of the journal. Times are seconds since 1970.
enum JournalEntry: Equatable, Sendable {
    /// An id was given out.
    case opened(Hex128, UploadPlan, at: Int64)
    /// A block (from 0) is in the data file.
    case block(Hex128, Int)
    /// What arrived turned out not to be the content promised; all blocks are forgotten.
    case reset(Hex128)
    case content(Content)
    /// The id's content is the one with this token.
    case finished(Hex128, user: String, content: Hex128, at: Int64)
    /// The id means nothing any more.
    case forgotten(Hex128)
    case committed(Commit)
    /// The user's portrait is the one with this token.
    case portrait(Hex128, user: String, at: Int64)
}
