import HTTPTypes
import Testing
import Transport
import UploadCore

@testable import Remotes

extension S3Problem {
    /// Reads a reply with its XML.
    init?(_ reply: HTTPReply) { self.init(reply, XMLElement(reply.body)) }
}

@Suite("S3 judge")
struct S3JudgeTests {
    private let clock = ServerClock(machine: { 1_000_000_000_000 })

    private func judge(_ operation: String = "PutObject", token: String? = nil) -> S3Judge {
        S3Judge(operation: operation, mask: TokenMask(token: token), clock: clock, region: "us-east-1")
    }

    private func reply(_ status: Int, _ code: String? = nil, more: String = "", headers: HTTPFields = [:]) -> HTTPReply
    {
        let body =
            code.map { "<?xml version=\"1.0\"?>\n<Error><Code>\($0)</Code><Message>why</Message>\(more)</Error>" } ?? ""
        return HTTPReply(status: status, headers: headers, body: Array(body.utf8))
    }

    private func failure(_ reply: HTTPReply, _ operation: String = "PutObject") throws -> RemoteFailure {
        judge(operation).failure(try #require(S3Problem(reply)), reply)
    }

    /// The kind of a failure, its code, and the outlook of a temporary one.
    private func summary(_ failure: RemoteFailure) -> String {
        switch failure {
        case .temporary(let error, _, let outlook): "temporary \(error.code) \(outlook)"
        case .busyUpload(let error, _): "busyUpload \(error.code)"
        case .outOfStep(let error): "outOfStep \(error.code)"
        case .signedOut(let error): "signedOut \(error.code)"
        case .permanent(let error): "permanent \(error.code)"
        case .forgotten: "forgotten"
        case .source: "source"
        case .cancelled: "cancelled"
        }
    }

    @Test(
        "judges errors by their code",
        arguments: [
            (503, "SlowDown", "temporary server_busy busy"),
            (503, "ServiceUnavailable", "temporary server_busy busy"),
            (403, "RequestTimeTooSkewed", "temporary clock_skew trouble"),
            (400, "ExpiredToken", "signedOut signed_out"),
            (403, "InvalidAccessKeyId", "signedOut signed_out"), (403, "SignatureDoesNotMatch", "signedOut signed_out"),
            (404, "NoSuchBucket", "temporary no_such_bucket lasting"),
            (403, "AccessDenied", "temporary access_denied lasting"),
            (400, "EntityTooSmall", "permanent refused"), (400, "EntityTooLarge", "permanent refused"),
            (400, "InvalidPart", "permanent refused"), (404, "NoSuchUpload", "forgotten"),
            (404, "NoSuchKey", "forgotten"),
            (400, "RequestTimeout", "temporary server_error trouble"),
            (400, "BadDigest", "busyUpload server_error"), (400, "IncompleteBody", "busyUpload server_error"),
            (400, "XAmzContentSHA256Mismatch", "busyUpload server_error"),
            (400, "XAmzContentChecksumMismatch", "busyUpload server_error"),
            (400, "InvalidRequest", "temporary refused_setting lasting"),
            (500, "InternalError", "temporary server_error trouble"),
            (200, "InternalError", "temporary server_error trouble"),
            (409, "OperationAborted", "busyUpload server_busy"),
            (403, "QuotaExceeded", "temporary server_full lasting"),
            (400, "KMS.DisabledException", "temporary refused_setting lasting"),
            (400, "InvalidStorageClass", "temporary refused_setting lasting"),
            (400, "InvalidBucketName", "temporary refused_setting lasting"),
            (501, "NotImplemented", "temporary refused_setting lasting"),
            (400, "InvalidArgument", "permanent refused"),
            (400, "KeyTooLongError", "permanent refused"), (403, "Strange", "temporary bad_reply trouble"),
            (405, "MethodNotAllowed", "temporary wrong_url lasting"), (507, "Strange", "temporary server_full lasting"),
            (404, "Strange", "temporary wrong_url lasting"), (410, "Gone", "temporary wrong_url lasting"),
            (301, "PermanentRedirect", "temporary wrong_region lasting"),
            (307, "TemporaryRedirect", "temporary wrong_region lasting"),
            (400, "AuthorizationHeaderMalformed", "temporary wrong_region lasting"),
        ])
    func codes(status: Int, code: String, expected: String) throws {
        #expect(summary(try failure(reply(status, code))) == expected)
    }

    @Test(
        "judges replies without S3's XML",
        arguments: [
            (403, "", "temporary access_denied lasting"), (404, "", "temporary wrong_url lasting"),
            (410, "", "temporary wrong_url lasting"),
            (502, "", "temporary server_error gateway"),
            (503, "<html>busy</html>", "temporary server_error gateway"),
            (404, "<html>no</html>", "temporary bad_reply lasting"),
            (302, "<html>log in</html>", "temporary captive_portal gateway"),
            (302, "", "temporary captive_portal gateway"),
            (511, "<html>log in</html>", "temporary captive_portal gateway"),
            (413, "too large", "temporary too_large_for_proxy lasting"),
            (400, "<html>request body too large</html>", "temporary too_large_for_proxy lasting"),
            (501, "", "temporary refused_setting lasting"),
            (413, "", "temporary too_large_for_proxy lasting"), (401, "", "signedOut signed_out"),
        ])
    func others(status: Int, body: String, expected: String) throws {
        #expect(summary(try failure(HTTPReply(status: status, body: Array(body.utf8)))) == expected)
    }

    @Test(
        "blames a prefix with an empty part for refusals that may be about it", arguments: ["/cam/", "cam//x/"],
        [(400, "XMinioInvalidObjectName"), (403, "SignatureDoesNotMatch"), (308, ""), (400, "KeyTooLongError")])
    func oddPrefix(prefix: String, answer: (status: Int, code: String)) throws {
        var judge = judge()
        judge.prefix = prefix
        let reply = reply(answer.status, answer.code.isEmpty ? nil : answer.code)
        let failure = judge.failure(try #require(S3Problem(reply)), reply)
        #expect(summary(failure) == "temporary refused_setting lasting")
        #expect(message(failure).contains("remote.prefix \"\(prefix)\""))
        judge.prefix = "cam/x/"
        #expect(summary(judge.failure(try #require(S3Problem(reply)), reply)) != "temporary refused_setting lasting")
    }

    @Test("names the place of refused keys, and a missing bucket")
    func places() throws {
        var judge = judge()
        judge.keyPlace = "access_key_file /etc/keys"
        judge.bucket = "photos"
        func message(_ status: Int, _ code: String) throws -> String {
            let reply = reply(status, code)
            return self.message(judge.failure(try #require(S3Problem(reply)), reply))
        }
        #expect(
            try message(403, "InvalidAccessKeyId").hasSuffix("; correct the access keys (access_key_file /etc/keys)"))
        #expect(try message(404, "NoSuchBucket").contains("create the bucket photos"))
    }

    @Test("finds no problem in a success", arguments: ["", "<CompleteMultipartUploadResult/>", "text"])
    func success(body: String) {
        #expect(S3Problem(HTTPReply(status: 200, body: Array(body.utf8))) == nil)
    }

    @Test("names the region and the endpoint that an error names")
    func region() throws {
        var failure = try failure(
            reply(301, "PermanentRedirect", more: "<Endpoint>b.s3.eu-west-1.amazonaws.com</Endpoint>"))
        #expect(message(failure).hasSuffix("set remote.url to its endpoint b.s3.eu-west-1.amazonaws.com"))
        failure = try self.failure(reply(400, "AuthorizationHeaderMalformed", more: "<Region>eu-west-1</Region>"))
        #expect(
            message(failure)
                == "PutObject: the server answered 400 AuthorizationHeaderMalformed: why; the bucket is not in the region us-east-1: "
                + "set remote.region to \"eu-west-1\"")
        failure = try self.failure(reply(301, headers: [S3Header.bucketRegion: "eu-west-1"]), "HeadObject")
        #expect(message(failure).hasSuffix("set remote.region to \"eu-west-1\""))
    }

    @Test("learns the server's clock from a complaint about the time")
    func skew() throws {
        #expect(clock.now.milliseconds == 1_000_000_000_000)
        let failure = try failure(reply(403, "RequestTimeTooSkewed", headers: [.date: "Sun, 09 Sep 2001 02:46:40 GMT"]))
        #expect(clock.now.milliseconds == 1_000_003_600_000)
        #expect(message(failure).contains("the server's clock is 3600 s ahead of this machine's"))
        _ = try self.failure(reply(403, "RequestTimeTooSkewed"))
        #expect(clock.now.milliseconds == 1_000_003_600_000)
    }

    @Test("an invalid argument concerns the settings that create objects, if there are any")
    func settings() throws {
        for (operation, expected) in [
            ("CreateMultipartUpload", "temporary refused_setting lasting"), ("UploadPart", "permanent refused"),
        ] {
            var judge = judge(operation)
            judge.hasStorageSettings = true
            let reply = reply(400, "InvalidArgument")
            #expect(summary(judge.failure(try #require(S3Problem(reply)), reply)) == expected)
        }
    }

    @Test("a refusal by a server whose time differs concerns the time, once")
    func rclone() throws {
        let reply = reply(400, "AccessDenied", headers: [.date: "Sun, 09 Sep 2001 02:46:40 GMT"])
        #expect(summary(try failure(reply)) == "temporary clock_skew trouble")
        #expect(summary(try failure(reply)) == "temporary access_denied lasting")
    }

    @Test("a long code is cut, and hides the token")
    func longCode() throws {
        let reply = reply(503, "geheim1234" + String(repeating: "x", count: 5000))
        let failure = judge(token: "geheim1234").failure(try #require(S3Problem(reply)), reply)
        #expect(message(failure).contains("503 ***xxx") && message(failure).utf8.count < 200)
    }

    @Test("names the permission that is missing")
    func permission() throws {
        #expect(message(try failure(reply(403, "AccessDenied"))).hasSuffix("; allow the key s3:PutObject"))
        #expect(
            message(try failure(reply(403, "AccessDenied"), "HeadObject")).hasSuffix("s3:GetObject and s3:ListBucket"))
    }

    @Test("hides the token in messages, and respects Retry-After")
    func hides() throws {
        let reply = reply(503, "SlowDown", more: "", headers: [.retryAfter: "7"])
        let body = String(decoding: reply.body, as: UTF8.self).replacing("why", with: "token geheim1234")
        let changed = HTTPReply(status: 503, headers: reply.headers, body: Array(body.utf8))
        let failure = judge(token: "geheim1234").failure(try #require(S3Problem(changed)), changed)
        #expect(message(failure) == "PutObject: the server answered 503 SlowDown: token ***")
        guard case .temporary(_, .some(.seconds(7)), _) = failure else {
            Issue.record("\(failure)")
            return
        }
    }

    private func message(_ failure: RemoteFailure) -> String {
        switch failure {
        case .temporary(let error, _, _), .busyUpload(let error, _), .signedOut(let error), .permanent(let error),
            .outOfStep(let error):
            error.message
        case .forgotten, .source, .cancelled: ""
        }
    }
}
