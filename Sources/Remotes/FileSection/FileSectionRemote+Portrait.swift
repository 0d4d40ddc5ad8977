public import Transport
public import UploadCore

extension FileSectionRemote: PortraitRemote {
    /// The longest URL that is taken, in bytes.
    private static let longestURL = 2048

    /// `POST /user/portrait.do`.
    public func replacePortrait(_ picture: any BodySource) async throws(RemoteFailure) -> String {
        let judge = ReplyJudge(endpoint: "portrait.do", subject: .noID)
        let part = MultipartPart(
            name: "portrait", fileName: "portrait.jpg", contentType: "image/jpeg", source: picture)
        let request = HTTPRequest(method: "POST", url: base + "/user/portrait.do", body: .multipart([part]))
        let reply = try judge.data(Messages.PortraitReply.self, of: try await send(request, judge.endpoint))
        guard Self.isPictureURL(reply.userImg) else {
            let message = "portrait.do: bad reply: userImg is not an http or https URL of at most 2048 bytes"
            throw .temporary(FileError(code: "bad_reply", message: message, retryable: true))
        }
        return reply.userImg
    }

    private static func isPictureURL(_ text: String) -> Bool {
        guard text.utf8.count <= longestURL, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return false }
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, ["http", "https"].contains(parts[0].lowercased()) else { return false }
        return !(parts[1].first.map { "/?#".contains($0) } ?? true)
    }
}
