import FoundationEssentials
import HTTPTypes
import LinuxSystem
import Remotes
import Transport

/// Asks the server what changes nothing there. Text of its answers is handed on without the token.
struct ServerQuestion: Sendable {
    let remote: Configuration.Remote
    /// The token to show, where it may travel.
    let token: String?
    let version: String
    /// How long the connection may take, and how long the answer.
    let limit: Duration

    /// What came back.
    struct Answer: Sendable {
        var outcome: ServerFacts.Outcome
        /// `Date` of the reply.
        var date: String?
    }

    private var mask: TokenMask { TokenMask(token: token) }

    /// Asks whether no files at all are finished: the one question of the protocol that names nothing, so that no server,
    /// whatever it is, has anything to change for it.
    func ask() async -> Answer {
        let begun = bootTimeNanoseconds()
        let result = await send("isFinish.do", type: "application/json", body: #"{"fileIds":[]}"#)
        let milliseconds = Int64((bootTimeNanoseconds() - begun) / 1_000_000)
        switch result {
        case .success(let reply):
            let answer = ServerFacts.Answer(reply, milliseconds: milliseconds, mask: mask)
            return Answer(outcome: .answered(answer), date: reply.headers.first(.date))
        case .failure(.replyTimeout), .failure(.cancelled):
            return Answer(outcome: .failed("no answer within \(limit.components.seconds) s"))
        case .failure(let error): return Answer(outcome: .failed(mask.hide(in: "\(error)")))
        }
    }

    /// Sends a fragment of an upload that does not exist.
    ///
    /// - Parameter withHeader: whether the request has the header `file_block`.
    /// - Returns: nil where there is no answer.
    func sendFragment(withHeader: Bool) async -> ServerFacts.Answer? {
        let id = FragmentHeaderFacts.id
        let block = #"[{"id":"\#(id)","totalSize":1,"blockTotal":1,"blockNo":1}]"#
        let body = """
            --\(id)\r
            Content-Disposition: form-data; name="sectionFile"; filename="\(id)-0.bin"\r
            Content-Type: application/octet-stream\r
            \r
            x\r
            --\(id)--\r

            """
        let result = await send(
            "upload.do", type: "multipart/form-data; boundary=\(id)", body: body,
            fileBlock: withHeader ? block : nil)
        guard case .success(let reply) = result else { return nil }
        return ServerFacts.Answer(reply, milliseconds: 0, mask: mask)
    }

    private func send(
        _ endpoint: String, type: String, body: String, fileBlock: String? = nil
    ) async -> Result<HTTPReply, TransportError> {
        var request = TransportRequest(
            method: .post, url: remote.url + "/fileSection/" + endpoint, headers: [.contentType: type],
            body: .bytes(Array(body.utf8)))
        do throws(TransportError) {
            if let fileBlock { try request.headers.add("file_block", fileBlock) }
            if let token, remote.allowsToken { try request.headers.add("Authorization", "Bearer \(token)") }
        } catch {
            return .failure(error)
        }
        do throws(CurlTransport.StartError) {
            let transport = try CurlTransport(
                configuration: .init(
                    connectTimeout: limit, stallTimeout: limit, replyTimeout: limit, caFile: remote.caFile,
                    userAgent: "outbox/\(version)"))
            let question = request
            let reply = await TimeLimit.wait(limit + .seconds(1)) { () -> Result<HTTPReply, TransportError> in
                do throws(TransportError) {
                    return .success(try await transport.send(question))
                } catch {
                    return .failure(error)
                }
            }
            // The program may end at once, and must not while libcurl's thread does: both would free what OpenSSL has.
            _ = await TimeLimit.run("question-end", .seconds(2)) { transport.shutdown() }
            return reply ?? .failure(.cancelled)
        } catch {
            return .failure(.other("\(error)"))
        }
    }
}

extension ServerFacts.Answer {
    private struct Envelope: Decodable {
        struct Anything: Decodable {}
        var code: Int?
        var message: String?
        var data: Anything?
    }

    /// - Parameter mask: takes the token out of the server's words. A redirect is told without its query, which may
    ///   hold secrets as well.
    init(_ reply: HTTPReply, milliseconds: Int64, mask: TokenMask) {
        let envelope = try? JSONDecoder().decode(Envelope.self, from: Data(reply.body))
        let type = reply.headers.first(.contentType)?.lowercased() ?? ""
        self.init(
            status: reply.status, isEnvelope: envelope?.code != nil || envelope?.data != nil, code: envelope?.code,
            message: envelope?.message.map(mask.hide(in:)),
            location: reply.headers.first(.location).map { mask.hide(in: WebURL.withoutQuery($0)) },
            isHTML: type.hasPrefix("text/html"), milliseconds: milliseconds)
    }
}
