package import Reports

/// The mirror of the server's pictures, as seen by the control interface and `outbox avatar`.
package protocol AvatarBackend: Sendable {
    /// Returns a picture in a style, from the mirror or after downloading it.
    ///
    /// If the patience ends first, returns the stored picture, even if the server may have a newer one. The download
    /// continues in the background.
    ///
    /// - Parameters:
    ///   - url: the address as the user wrote it.
    ///   - style: a step, or the name of a style, as the user wrote it.
    ///   - patience: how long to wait for downloading and drawing.
    /// - Throws: `AvatarTrouble` if there is nothing to show; `pending` during a download.
    func picture(url: String, style: String, patience: Duration) async throws(AvatarTrouble) -> ServedPicture

    /// Returns all stored pictures, sorted by URL, and the URLs that failed.
    func list() async throws(AvatarTrouble) -> AvatarList

    /// Removes pictures fetched before the given age, or all if `nil`, but never the target of `current.jpg`. Also
    /// forgets the URLs that failed.
    func clear(olderThan age: Duration?) async throws(AvatarTrouble) -> AvatarClearance

    /// Returns the counters.
    func figures() async -> AvatarFigures
}

/// A picture that is available.
package struct ServedPicture: Equatable, Sendable {
    /// The content of the file.
    var bytes: [UInt8]
    /// The media type.
    var type: String
    /// Absolute path in the mirror; `nil` if the picture exists only in memory.
    var path: String?

    package init(bytes: [UInt8], type: String, path: String? = nil) {
        self.bytes = bytes
        self.type = type
        self.path = path
    }
}

extension AvatarFile {
    /// - Throws: `AvatarTrouble` if the picture has no file.
    package init(url: String, style: String, _ picture: ServedPicture) throws(AvatarTrouble) {
        guard let path = picture.path else {
            throw AvatarTrouble(
                AvatarTrouble.storage, "the picture of \(url) is in memory only, because the mirror can't store it")
        }
        self.init(url: url, style: style, path: path, type: picture.type, size: UInt64(picture.bytes.count))
    }
}
