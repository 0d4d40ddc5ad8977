import AgentConfiguration
import FoundationEssentials
import HTTPTypes
import LinuxSystem
import Remotes
import Transport
import URLs

/// Sends the server requests without side effects. Removes the token from the answers' text.
struct ServerQuestion: Sendable {
    /// The requests of the protocol.
    let probe: any RemoteProbe
    let remote: Configuration.Remote
    /// The token to send, if it may be sent to this server.
    let token: String?
    let version: String
    /// Time limit for the connection, and again for the answer.
    let limit: Duration

    /// The server's answer.
    struct Answer: Sendable {
        var outcome: ServerFacts.Outcome
        /// `Date` header of the reply.
        var date: String?
    }

    private var mask: TokenMask { TokenMask(token: token) }

    /// Asks the protocol's question without side effects.
    func ask() async -> Answer {
        let begun = bootTimeNanoseconds()
        let result = await send(probe.question)
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
    /// - Parameter withHeader: Whether the request has the header `file_block`.
    /// - Returns: nil without an answer.
    func sendFragment(withHeader: Bool) async -> ServerFacts.Answer? {
        guard let fragment = try? probe.strayFragment(withHeader: withHeader) else { return nil }
        let result = await send(fragment)
        guard case .success(let reply) = result else { return nil }
        return ServerFacts.Answer(reply, milliseconds: 0, mask: mask)
    }

    private func send(_ request: TransportRequest) async -> Result<HTTPReply, TransportError> {
        var request = request
        request.credentialsOrigin = WebOrigin(remote.url)
        do throws(TransportError) {
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
            // Wait for libcurl's thread: if the program exited at the same time, both would free OpenSSL's data.
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

    /// - Parameter mask: Removes the token from the server's text. A redirect is reported without its query, which may
    ///   contain secrets too.
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
