import HTTPTypes

/// An error reply to a request.
struct Refusal: Error, Equatable {
    let status: HTTPResponse.Status
    let message: String
    /// The seconds after which a retry makes sense.
    var retryAfter: Int?
    /// The methods that the address supports.
    var allowed: String?
    /// The latest revision of the post that the request concerns.
    var revision: Int?

    /// Whether the refusal is part of normal operation; such refusals are logged at level debug.
    var isRoutine: Bool { Self.routine.contains(self) }
    private static let routine = [unknownID, notFound, superseded, busy]

    static func badRequest(_ message: String) -> Refusal { Refusal(status: .badRequest, message: message) }
    static func tooLarge(_ message: String) -> Refusal { Refusal(status: .contentTooLarge, message: message) }
    static func methodNotAllowed(_ allowed: String) -> Refusal {
        Refusal(status: .methodNotAllowed, message: "This address accepts \(allowed) only.", allowed: allowed)
    }
    /// - Parameter field: The header field that shows the foreign origin.
    static func foreign(_ field: String, expected: String) -> Refusal {
        Refusal(
            status: .forbidden,
            message:
                "A receiver without tokens refuses requests with \(field). Use \(expected), start the receiver with "
                + "--public-url, or give it tokens.")
    }
    static let foreignForm = Refusal(status: .forbidden, message: "A page of another site sent this form.")
    static let notExpectedJSON = badRequest("The body is not the JSON that this request needs.")
    static let unknownID = Refusal(status: .notFound, message: "No such file id.")
    static let notFound = Refusal(status: .notFound, message: "Nothing exists at this address.")
    static let unauthorized = Refusal(status: .unauthorized, message: "A valid bearer token is needed.")
    static let tooManyUploads = Refusal(
        status: .tooManyRequests, message: "Too many unfinished uploads. Finish or delete some.", retryAfter: 30)
    static let portraitUnderWay = Refusal(
        status: .tooManyRequests, message: "Another portrait is being received.", retryAfter: 5)
    static let tooManyRequests = Refusal(
        status: .tooManyRequests, message: "Too many requests at a time.", retryAfter: 1)
    static let busy = Refusal(
        status: .serviceUnavailable, message: "Too many requests wait for such pages or pictures.", retryAfter: 1)
    static let tooManyPosts = Refusal(
        status: .tooManyRequests, message: "Too many posts. Remove some.", retryAfter: 300)
    static let tooManyTwins = Refusal(
        status: .conflict,
        message: "Too many different files have this MD5 and size.")
    static let diskFull = Refusal(
        status: .init(code: 507, reasonPhrase: "Insufficient Storage"), message: "The server's disk is too full.",
        retryAfter: 300)
    static func overQuota(_ quota: Int64) -> Refusal {
        Refusal(
            status: .init(code: 507, reasonPhrase: "Insufficient Storage"),
            message: "This would exceed your quota of \(FileSize.text(quota)) on this server.", retryAfter: 300)
    }
    static func otherRevision(_ latest: Int) -> Refusal {
        Refusal(
            status: .conflict,
            message: "The post has revision \(latest) with another list. Commit this list with a later revision.",
            revision: latest)
    }
    static let superseded = Refusal(
        status: .serviceUnavailable, message: "Another request is sending the same fragment.", retryAfter: 1)
    static let storageFailed = Refusal(
        status: .internalServerError, message: "The server could not store the data; see its log.", retryAfter: 10)
}
