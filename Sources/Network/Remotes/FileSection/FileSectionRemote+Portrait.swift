import HTTPTypes
public import Transport
import URLs
public import UploadCore

extension FileSectionRemote: PortraitRemote {
    /// `POST /user/portrait.do`.
    public func replacePortrait(_ picture: any BodySource) async throws(RemoteFailure) -> String {
        var judge = ReplyJudge(endpoint: "portrait.do", subject: .noID)
        let part = MultipartPart(
            name: "portrait", fileName: "portrait.jpg", contentType: "image/jpeg", source: picture)
        let request = TransportRequest(method: .post, url: base + "/user/portrait.do", body: .multipart([part]))
        let answer = try await send(request, &judge)
        let reply = try judge.data(Messages.PortraitReply.self, of: answer)
        guard WebURL.isAnswer(reply.userImg) else {
            let message = "portrait.do: bad reply: userImg is not an http or https URL of at most 2048 bytes"
            throw .temporary(FileError(code: "bad_reply", message: message, retryable: true))
        }
        return judge.hidingToken(reply.userImg)
    }
}
