public import Transport
public import UploadCore

/// A server that keeps a profile picture for each account. Of the protocols only fileSection has one, so it is asked for
/// apart from `Remote`.
public protocol PortraitRemote: Sendable {
    /// Makes a picture the account's profile picture, in the place of the one before.
    ///
    /// It is judged as registering an upload is: no id is involved, so 404, 405 and 410 tell of a wrong URL. Cancelling
    /// the task gives the request up; the server may have taken the picture all the same.
    ///
    /// - Parameter picture: a JPEG.
    /// - Returns: the picture's URL, as the server gave it: http or https, at most 2048 bytes.
    /// - Throws: what kind of failure it was; `.source` where the picture could not be read.
    func replacePortrait(_ picture: any BodySource) async throws(RemoteFailure) -> String
}
