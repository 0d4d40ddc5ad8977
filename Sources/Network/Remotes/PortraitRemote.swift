public import Transport
public import UploadCore

/// A server that stores a profile picture for each account. Not every protocol supports pictures (tus does not), so this one
/// is separate from `Remote`.
public protocol PortraitRemote: Sendable {
    /// Replaces the account's profile picture.
    ///
    /// Failures are judged like those of a registration: the request contains no id, so 404, 405 and 410 mean a wrong
    /// URL. Cancelling the task aborts the request, but the server may already have accepted the picture.
    ///
    /// - Parameter picture: a JPEG.
    /// - Returns: the picture's URL from the server: http or https, at most 2048 bytes.
    /// - Throws: the kind of failure; `.source` if the picture could not be read.
    func replacePortrait(_ picture: any BodySource) async throws(RemoteFailure) -> String
}
