import HTTPTypes
import Transport
import URLs
import UploadCore

/// Judges the replies of a tus server.
struct TusJudge {
    /// The subject of a request, as far as the judgement depends on it.
    enum Subject {
        /// The URL that creates uploads: a 404 means a wrong URL.
        case creation
        /// The URL of one upload: a 404 means that the server forgot the upload, and 409, 412, 423 and 460 concern this
        /// upload alone.
        case upload
    }

    /// 409: another offset. 412: a condition failed. 423: an earlier request still holds the lock. 460: the bytes arrived
    /// damaged.
    private static let ofUpload = StatusTable(
        exceptions: [409: .outOfStep, 412: .outOfStep, 423: .busyUpload, 460: .outOfStep])
    private static let ofCreation = StatusTable(exceptions: [423: .busyUpload])

    /// The request's method, for messages.
    let method: String
    let subject: Subject
    /// Removes the request's token from every text of the reply.
    var mask = TokenMask(token: nil)
    /// The number of bytes that the request carried.
    var length: UInt64 = 0

    /// Adds a header field whose value is free of control characters.
    func add(_ name: String, _ value: String, to request: inout TransportRequest) {
        guard let name = HTTPField.Name(name) else { return }
        request.headers.append(HTTPField(name: name, value: value))
    }

    // MARK: Failures

    /// Returns the failure of a request without a reply.
    func failure(_ error: TransportError) -> RemoteFailure {
        RemoteFailure(error, endpoint: method, hidingToken: mask.hide)
    }

    /// Checks that a reply reports success.
    func accept(_ reply: HTTPReply) throws(RemoteFailure) {
        if !(200...299).contains(reply.status) { throw failure(of: reply) }
    }

    /// Returns the failure that a reply reports.
    func failure(of reply: HTTPReply) -> RemoteFailure {
        let status = reply.status
        let retryAfter = RetryAfter.duration(in: reply.headers)
        let said = WebPage.firstLine(of: reply).map { ": \(mask.hide(in: $0).prefix(300))" } ?? ""
        let message = "\(method): the server answered \(status)\(said)"
        if status == 412, let offer = TusOffer(reply.headers), !offer.speaksOurVersion { return wrongVersion(reply) }
        if status == 403, reply.isFromTus {
            // Tus servers may say 403 instead of 404. Bad credentials show when the upload is created again.
            if method == "HEAD" { return .forgotten }
            // The upload may be complete already. The next HEAD shows that, or bad credentials.
            if method == "PATCH" { return outOfStep("the server answered 403\(said)") }
        }
        if refusesUpload(reply) {
            return .busyUpload(
                FileError(code: "access_denied", message: message, retryable: true), retryAfter: retryAfter)
        }
        if !reply.isFromTus, WebPage.refusesRequest(reply) { return foreign(reply) }
        let meaning = (subject == .upload ? Self.ofUpload : Self.ofCreation)[status]
        switch meaning {
        case .unknown where subject == .upload:
            // A web server on the way knows nothing of uploads. A failed removal matters less than such a reply would.
            if method != "DELETE", !reply.isFromTus, WebPage.isBody(of: reply) { return foreign(reply) }
            return .forgotten
        case .unknown: return noServer(status, said, retryAfter)
        case .wrongMethod where subject == .creation: return noServer(status, said, retryAfter)
        case .redirect: return .redirected(method, reply, hidingToken: mask.hide)
        case .loginRequired: return .loginRequired(method, retryAfter)
        case .wrongMethod, .refused:
            if !reply.isFromTus, status == 413 || WebPage.isBody(of: reply) { return foreign(reply) }
            return .permanent(FileError(code: "refused", message: message, retryable: false))
        default:
            return meaning.failure(message, retryAfter: retryAfter) ?? badReply(reply, "unexpected status \(status)")
        }
    }

    /// Whether a gateway refuses the requests about one upload: that of oCIS and OpenCloud answers so once the token in the
    /// upload's URL has expired. Bad credentials show when the next upload is created.
    func refusesUpload(_ reply: HTTPReply) -> Bool {
        subject == .upload && reply.status == 403 && !reply.isFromTus && !WebPage.isBody(of: reply)
    }

    /// A refusal from a proxy or another web server.
    func foreign(_ reply: HTTPReply) -> RemoteFailure {
        .foreign(method, reply, length: length, hidingToken: mask.hide)
    }

    /// A reply that breaks the protocol.
    func badReply(_ reply: HTTPReply, _ why: String) -> RemoteFailure {
        if WebPage.isBody(of: reply) { return .webPage(method) }
        return .temporary(FileError(code: "bad_reply", message: "\(method): bad reply: \(why)", retryable: true))
    }

    /// The server has other bytes than expected.
    func outOfStep(_ what: String) -> RemoteFailure {
        .outOfStep(FileError(code: "out_of_step", message: "\(method): \(what)", retryable: true))
    }

    private func noServer(_ status: Int, _ said: String, _ retryAfter: Duration?) -> RemoteFailure {
        .wrongURL(
            "\(method): no tus server creates uploads at this address (the answer was \(status)\(said)); check host, port "
                + "and path of remote.url, also the slash at its end", retryAfter: retryAfter)
    }

    /// The server's versions do not include 1.0.0.
    func wrongVersion(_ reply: HTTPReply) -> RemoteFailure {
        let versions = reply.headers.value(of: "Tus-Version").map { mask.hide(in: $0).prefix(100) } ?? "none"
        return .wrongURL(
            "\(method): the server speaks tus \(versions), and the agent \(TusRemote.version); update the server, or correct "
                + "remote.url")
    }

    /// The address of an upload is at another scheme, host or port.
    func foreignPlace(_ place: String) -> RemoteFailure {
        .wrongURL(
            "\(method): the server names an upload at \(mask.hide(in: WebURL.withoutQuery(place)).prefix(200)), but files and "
                + "credentials go to the scheme, host and port of remote.url only; correct remote.url, or have the server "
                + "use its public address (tusd behind a proxy: -behind-proxy)")
    }
}

extension HTTPReply {
    /// Whether a tus server wrote the reply: every reply must have this field.
    var isFromTus: Bool { headers.value(of: "Tus-Resumable") != nil }

    /// Returns the number in a header field; nil without a valid one.
    func number(_ name: String) -> UInt64? { headers.value(of: name).flatMap { UInt64($0) } }
}

extension HTTPFields {
    /// Returns the value of the first field with a name; nil if there is none.
    func value(of name: String) -> String? { HTTPField.Name(name).flatMap { first($0) } }
}
