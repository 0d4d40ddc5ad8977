/// The mirror of the server's pictures, as the control interface and `outbox avatar` see it.
protocol AvatarBackend: Sendable {
    /// A picture in a style, from the mirror or fetched for it.
    ///
    /// Where patience ends first, what is kept is given though the server may have a newer one, and the fetching goes on
    /// in the background.
    ///
    /// - Parameters:
    ///   - url: the address as a user wrote it.
    ///   - style: a step, or the name of a style, as a user wrote it.
    ///   - patience: how long is waited for what must be fetched or drawn.
    /// - Throws: `AvatarTrouble` where there is nothing to show; `pending` while it is still being fetched.
    func picture(url: String, style: String, patience: Duration) async throws(AvatarTrouble) -> ServedPicture

    /// Everything that is kept, ordered by URL, and the URLs that failed.
    func list() async throws(AvatarTrouble) -> AvatarList

    /// Removes what was fetched longer ago than an age, everything where nil, but never the picture that
    /// `current.jpg` leads to. The URLs that failed are forgotten.
    func clear(olderThan age: Duration?) async throws(AvatarTrouble) -> AvatarClearance

    /// What is counted.
    func figures() async -> AvatarFigures
}

/// A picture that is at hand.
struct ServedPicture: Equatable, Sendable {
    /// The file's bytes.
    var bytes: [UInt8]
    /// Its media type.
    var type: String
    /// Where it stands in the mirror, absolute; nil where it stands in memory alone.
    var path: String?
}

extension AvatarFile {
    /// - Throws: `AvatarTrouble` where the picture has no file.
    init(url: String, style: String, _ picture: ServedPicture) throws(AvatarTrouble) {
        guard let path = picture.path else {
            throw AvatarTrouble(AvatarTrouble.storage, "\(url) is not kept in a file")
        }
        self.init(url: url, style: style, path: path, type: picture.type, size: UInt64(picture.bytes.count))
    }
}
