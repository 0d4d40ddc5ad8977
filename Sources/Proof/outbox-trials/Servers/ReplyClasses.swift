import EndToEndSupport

/// What the agent must make of a faulty reply.
enum ReplyClass: Hashable {
    /// The file waits, and the next attempt follows by itself.
    case temporary
    case signedOut
    /// The server does not know the upload: it begins anew.
    case forgotten
    /// The file fails.
    case permanent
    /// The agent finds out what it needs in another way.
    case harmless
}

/// The classes of replies, by the contract: section 4 for the usual protocol; for tus the table of docs/remotes.md, for S3 that of docs/errors.md.
extension RemoteKind {
    typealias Fault = FaultServer.Fault

    /// Faults other than a status of the protocol's own server.
    var oddFaults: [Fault] {
        let common: [Fault] = [
            .garbage, .html, .tooLong, .reset, .redirect("http://127.0.0.1:9/"), .status(503, retryAfter: "1"),
            .page(400), .page(413),
        ]
        switch self {
        case .filesection: return common + [.truncated, .bodyCode(503)]
        case .tus: return common + [.page(404)]
        case .s3: return common + [.page(403), .page(404)] + Self.codes.map { .error($0.status, code: $0.code) }
        }
    }

    /// Errors that S3 names, with their class for every request.
    private static let codes: [(status: Int, code: String, class: ReplyClass)] = [
        (503, "SlowDown", .temporary), (500, "InternalError", .temporary), (400, "RequestTimeout", .temporary),
        (400, "BadDigest", .temporary), (403, "RequestTimeTooSkewed", .temporary), (404, "NoSuchBucket", .temporary),
        (403, "AccessDenied", .temporary), (403, "QuotaExceeded", .temporary), (301, "PermanentRedirect", .temporary),
        (400, "AuthorizationHeaderMalformed", .temporary), (400, "InvalidStorageClass", .temporary),
        (501, "NotImplemented", .temporary), (400, "ExpiredToken", .signedOut), (403, "InvalidAccessKeyId", .signedOut),
        (403, "SignatureDoesNotMatch", .signedOut), (400, "EntityTooLarge", .permanent),
        (400, "InvalidRange", .permanent), (404, "NoSuchUpload", .forgotten),
    ]

    /// Returns the class of a fault; nil if the request can't have it.
    func replyClass(of fault: Fault, to request: String) -> ReplyClass? {
        switch fault {
        case .status(let status, _):
            switch self {
            case .filesection: Self.sectionClass(status, request)
            case .tus: Self.tusClass(status, request)
            case .s3: Self.storeClass(status, request)
            }
        case .error(_, let code):
            // The reply to a HEAD has no body, and so no code. Only what belongs to an upload can be forgotten.
            request == "HEAD" || code == "NoSuchUpload" && !["UploadPart", "CompleteMultipartUpload"].contains(request)
                ? nil : Self.codes.first { $0.code == code }?.class
        case .page: request == "HEAD" ? nil : .temporary
        default: .temporary
        }
    }

    private static func sectionClass(_ status: Int, _ request: String) -> ReplyClass {
        switch status {
        case 401, 403: .signedOut
        case 404, 410: request == "preLoad" ? .temporary : .forgotten
        case 405: request == "preLoad" ? .temporary : .permanent
        default: general(status)
        }
    }

    private static func tusClass(_ status: Int, _ request: String) -> ReplyClass {
        switch (status, request) {
        case (401, _), (403, "POST"): .signedOut
        case (403, "HEAD"): .forgotten
        case (403, _): .temporary
        case (404, "POST"), (405, "POST"), (410, "POST"): .temporary
        case (404, _), (410, _): .forgotten
        case (409, "POST"), (412, "POST"), (460, "POST"): .permanent
        case (409, _), (412, _), (423, _), (460, _): .temporary
        default: general(status)
        }
    }

    /// The class of an error with a code of S3 that the agent does not know.
    private static func storeClass(_ status: Int, _ request: String) -> ReplyClass {
        switch (status, request) {
        case (401, _): .signedOut
        // A GET explains these replies to a HEAD.
        case (400, "HEAD"), (403, "HEAD"), (404, "HEAD"): .harmless
        case (403, _), (404, _), (405, _), (409, _), (410, _), (501, _): .temporary
        // An object has the name, and then it has not.
        case (412, "PutObject"): .temporary
        case (412, "CompleteMultipartUpload"): .forgotten
        default: general(status)
        }
    }

    /// The class of a status that means the same in each protocol.
    private static func general(_ status: Int) -> ReplyClass {
        switch status {
        case 407, 408, 425, 429, 511: .temporary
        case 501, 505: .permanent
        case 500...: .temporary
        default: .permanent
        }
    }
}
