import FoundationEssentials
import HTTPTypes
import Synchronization
import Transport
import UploadCore

/// Judges a reply of the fileSection protocol: first the HTTP status, then, for 2xx, the `code` in the body.
struct ReplyJudge {
    /// The subject of a request, as far as the judgement depends on it.
    enum Subject {
        /// No id from the server: a 404 means a wrong URL.
        case noID
        /// Ids from the server: a 404 means that the server forgot them.
        case knownIDs
    }

    private struct Envelope: Decodable {
        var code: Int?
        var message: String?
    }

    private struct Named: Decodable {
        struct Ids: Decodable {
            var fileId: String?
            var fileIds: [String]?
        }
        var data: Ids?
    }

    /// The protocol has no exceptions.
    private static let statuses = StatusTable()

    /// The request's endpoint, for messages.
    let endpoint: String
    let subject: Subject
    /// Hides the request's token in every text of the reply.
    var mask: TokenMask
    /// The number of bytes that the request carried.
    var length: UInt64 = 0
    /// Knows bodies that report success without decoding them again.
    private let usual: UsualReply?

    init(
        endpoint: String, subject: Subject, mask: TokenMask = TokenMask(token: nil), usual: UsualReply? = nil
    ) {
        self.endpoint = endpoint
        self.subject = subject
        self.mask = mask
        self.usual = usual
    }

    /// Removes the token from a text. Every text of a reply or of the transport passes this function before it is
    /// cut, stored or shown.
    func hidingToken(_ text: String) -> String { mask.hide(in: text) }

    /// Returns the failure of a request without a reply.
    func failure(_ error: TransportError) -> RemoteFailure {
        RemoteFailure(error, endpoint: endpoint, hidingToken: hidingToken)
    }

    /// Decodes a reply's data.
    ///
    /// - Returns: the decoded `data` object.
    /// - Throws: the kind of failure reported by the reply.
    func data<Data: Decodable>(_ type: Data.Type, of reply: HTTPReply) throws(RemoteFailure) -> Data {
        // Mostly one look is enough. Otherwise `accept` finds out what is wrong.
        if (200...299).contains(reply.status), let whole = decoded(Whole<Data>.self, in: reply), whole.isSuccess {
            return whole.data
        }
        try accept(reply)
        guard let data = optionalData(type, of: reply) else {
            throw badReply("its data does not match the protocol")
        }
        return data
    }

    /// Decodes the data of an already accepted reply.
    ///
    /// - Returns: the decoded `data` object; nil for missing or unexpected data.
    func optionalData<Data: Decodable>(_ type: Data.Type, of reply: HTTPReply) -> Data? {
        decoded(Body<Data>.self, in: reply)?.data
    }

    private struct Body<Payload: Decodable>: Decodable {
        var data: Payload
    }

    /// Envelope and data.
    private struct Whole<Payload: Decodable>: Decodable {
        var code: Int?
        var message: String?
        var data: Payload

        var isSuccess: Bool { code.map { (200...299).contains($0) } ?? true }
    }

    private func decoded<Value: Decodable>(_ type: Value.Type, in reply: HTTPReply) -> Value? {
        try? JSONDecoder().decode(type, from: Data(reply.body))
    }

    /// Checks that a reply reports success.
    ///
    /// - Throws: the kind of failure reported by the reply.
    func accept(_ reply: HTTPReply) throws(RemoteFailure) {
        guard (200...299).contains(reply.status) else {
            throw failure(status: reply.status, reply: reply)
        }
        // The judgement of a 2xx depends on the body alone, so equal bytes mean the same again.
        if usual?.matches(reply.body) == true { return }
        guard let envelope = envelope(of: reply) else {
            if WebPage.isBody(of: reply) { throw RemoteFailure.webPage(endpoint) }
            throw badReply("not the expected JSON")
        }
        switch envelope.code {
        case nil, .some(200...299): usual?.record(reply.body)
        case .some(let code) where (400...599).contains(code): throw failure(status: code, reply: reply)
        case .some(let code): throw badReply("unknown code \(code)")
        }
    }

    /// Returns what a reply reports: the HTTP status, or for 2xx the `code` in the body.
    func code(of reply: HTTPReply) -> Int {
        (200...299).contains(reply.status) ? envelope(of: reply)?.code ?? reply.status : reply.status
    }

    private func envelope(of reply: HTTPReply) -> Envelope? {
        decoded(Envelope.self, in: reply)
    }

    private func badReply(_ why: String) -> RemoteFailure {
        .temporary(FileError(code: "bad_reply", message: "\(endpoint): bad reply: \(why)", retryable: true))
    }

    private func failure(status: Int, reply: HTTPReply) -> RemoteFailure {
        let envelope = envelope(of: reply)
        let said = envelope?.message.map { ": \(hidingToken($0).prefix(300))" } ?? ""
        let message =
            subject == .noID && [404, 405, 410].contains(status)
            ? "\(endpoint): no fileSection server at this address (the answer was \(status)\(said)); check host, port and path of "
                + "remote.url"
            : "\(endpoint): the server answered \(status)\(said)"
        let retryAfter = RetryAfter.duration(in: reply.headers)
        if status == 403, namesOneFile(reply) {
            return .permanent(FileError(code: "forbidden", message: message, retryable: false))
        }
        if WebPage.refusesRequest(reply) { return foreign(reply) }
        let wrongURL = RemoteFailure.wrongURL(message, retryAfter: retryAfter)
        let meaning = Self.statuses[status]
        switch meaning {
        // A server of the protocol answers in JSON, so this page says nothing about the ids.
        case .unknown where subject == .knownIDs && envelope == nil && WebPage.isBody(of: reply): return foreign(reply)
        case .unknown where subject == .knownIDs: return .forgotten
        case .unknown: return wrongURL
        case .wrongMethod where subject == .noID: return wrongURL
        case .redirect: return .redirected(endpoint, reply, hidingToken: hidingToken)
        case .loginRequired: return .loginRequired(endpoint, retryAfter)
        case .wrongMethod, .refused:
            if envelope == nil, status == 413 || !WebPage.isBlank(reply) { return foreign(reply) }
            if endpoint == Self.fragments, usual?.isKnown == false, said.contains("file_block") {
                return .headerDropped(message)
            }
            return .permanent(FileError(code: "refused", message: message, retryable: false))
        default: return meaning.failure(message, retryAfter: retryAfter) ?? badReply("unexpected status \(status)")
        }
    }

    private func foreign(_ reply: HTTPReply) -> RemoteFailure {
        .foreign(endpoint, reply, length: length, hidingToken: hidingToken)
    }

    /// The endpoint that takes fragments.
    static let fragments = "upload.do"

    /// Whether a 403 concerns one file instead of the account: its data names exactly one id.
    private func namesOneFile(_ reply: HTTPReply) -> Bool {
        guard let data = decoded(Named.self, in: reply)?.data else { return false }
        return data.fileId != nil || data.fileIds?.count == 1
    }
}

/// The body of the last reply that reported success. A server confirms each fragment with the same bytes, as a rule.
final class UsualReply: Sendable {
    /// Maximum size of a body in bytes; a longer one is hardly the same again.
    private static let longest = 1024

    private let last = Mutex<(body: [UInt8]?, isKnown: Bool)>((nil, false))

    /// Whether a reply reported success before.
    var isKnown: Bool { last.withLock { $0.isKnown } }

    func matches(_ body: [UInt8]) -> Bool { last.withLock { $0.body == body } }

    func record(_ body: [UInt8]) {
        last.withLock { last in
            last.isKnown = true
            if body.count <= Self.longest { last.body = body }
        }
    }
}
