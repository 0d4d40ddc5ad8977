import HTTPTypes
import Synchronization
public import Transport
import UploadCore

/// Examines a tus server for `outbox doctor`. Creates an upload of one byte and removes it, if the server lets clients
/// remove uploads; otherwise asks for an upload that does not exist.
public struct TusExaminer: RemoteExaminer {
    private let url: String
    private let client: TusClient
    private let clock: ServerDate

    /// Creates an examiner.
    ///
    /// - Parameters:
    ///   - url: the URL that creates uploads, as configured.
    ///   - transport: sends the requests.
    ///   - authorizer: adds the token to each request.
    public init(url: String, transport: any HTTPTransport, authorizer: any Authorizer) {
        self.url = TusAddress(url).url
        clock = ServerDate(transport)
        client = TusClient(url: url, transport: clock, authorizer: authorizer)
    }

    /// Examines the server.
    public func examine() async -> RemoteExamination {
        var findings: [RemoteExamination.Finding] = []
        do throws(RemoteFailure) {
            let offer = try await client.discover().get()
            findings.append(.init(.ok, "\(url) \(Self.text(of: offer))"))
            if let extensions = offer.extensions, !extensions.contains("creation") {
                let message = "\(url) lets no client create uploads: it does not offer the extension creation"
                findings.append(.init(.stop, message, remedy: "correct remote.url, or configure the server"))
            }
            findings.append(.init(.ok, try await tryUpload(offer), isAboutCredentials: true))
        } catch {
            findings.append(
                .init(
                    error, remedy: "check remote.url, and see the server's log",
                    credentials: "run `outbox login`, or set remote.token_file or OUTBOX_TOKEN"))
        }
        return RemoteExamination(findings: findings, date: clock.last)
    }

    /// - Returns: what the server lets this account do.
    private func tryUpload(_ offer: TusOffer) async throws(RemoteFailure) -> String {
        let key = ContentKey(high: 0, low: 0)
        let plan = FragmentPlan(size: 1)
        guard offer.extensions?.contains("termination") == true else {
            let place = url + (url.hasSuffix("/") ? "" : "/") + "outbox-doctor"
            let upload = RemoteUpload(key: key, handle: RemoteHandle(id: place), plan: plan, type: .other)
            do throws(RemoteFailure) {
                _ = try await client.offset(of: upload)
            } catch .forgotten {}
            return "this account may ask for uploads"
        }
        let path = RelativePath("outbox-doctor") ?? .root
        let place = try await client.create(
            UploadDescription(key: key, plan: plan, path: path, type: .other, modified: nil))
        try await client.terminate(place)
        return "this account may create uploads"
    }

    private static func text(of offer: TusOffer) -> String {
        guard let extensions = offer.extensions else { return "answers, and does not say what it offers" }
        let limit = offer.maximumSize.map { "; files of at most \($0) bytes" } ?? ""
        return "speaks tus \(TusRemote.version) and offers \(extensions.sorted().joined(separator: ", "))\(limit)"
    }
}

/// Passes requests on, and keeps the `Date` of the last reply.
private final class ServerDate: HTTPTransport {
    private let transport: any HTTPTransport
    private let date = Mutex<String?>(nil)

    init(_ transport: any HTTPTransport) { self.transport = transport }

    var last: String? { date.withLock { $0 } }

    func send(_ request: TransportRequest) async throws(TransportError) -> HTTPReply {
        let reply = try await transport.send(request)
        if let sent = reply.headers.first(.date) { date.withLock { $0 = sent } }
        return reply
    }
}
