import HTTPTypes
import Transport
import UploadCore

/// What a reply of S3 says went wrong.
struct S3Problem: Equatable, Sendable {
    /// The status of the reply; 200 if the completion of an upload failed after the header was sent.
    var status: Int
    /// The code in the XML, as `NoSuchBucket`; nil without one, as in the reply to a HEAD.
    var code: String?
    /// The message in the XML.
    var message: String?
    /// The region of the bucket, where the reply names it.
    var region: String?
    /// The endpoint of the bucket, where the reply names it.
    var endpoint: String?
    /// Whether another server answered in place of S3: the body is neither empty nor S3's XML.
    var isForeign = false

    /// Reads a reply.
    ///
    /// - Parameter root: the XML in the reply; nil without one.
    /// - Returns: nil if the reply reports success.
    init?(_ reply: HTTPReply, _ root: XMLElement?) {
        status = reply.status
        region = reply.headers.first(S3Header.bucketRegion)
        if let error = root, error.name == "Error" {
            code = error["Code"].flatMap { $0.isEmpty ? nil : $0 }
            message = error["Message"]
            region = region ?? error["Region"]
            endpoint = error["Endpoint"]
            return
        }
        if (200...299).contains(status) { return nil }
        isForeign = !WebPage.isBlank(reply)
    }
}

/// Names of header fields.
enum S3Header {
    static let bucketRegion = name("x-amz-bucket-region")
    static let checksumAlgorithm = name("x-amz-checksum-algorithm")
    static let checksumCRC64NVME = name("x-amz-checksum-crc64nvme")
    static let checksumSHA256 = name("x-amz-checksum-sha256")
    static let contentMD5 = name("Content-MD5")
    static let contentSHA256 = name("x-amz-content-sha256")
    static let date = name("x-amz-date")
    static let securityToken = name("x-amz-security-token")
    static let metaMD5 = name("x-amz-meta-md5")
    static let metaModified = name("x-amz-meta-mtime")
    static let metaPath = name("x-amz-meta-path")
    static let metaSHA256 = name("x-amz-meta-sha256")
    static let storageClass = name("x-amz-storage-class")
    static let acl = name("x-amz-acl")
    static let encryption = name("x-amz-server-side-encryption")
    static let encryptionKey = name("x-amz-server-side-encryption-aws-kms-key-id")
    static let customerEncryption = name("x-amz-server-side-encryption-customer-algorithm")

    private static func name(_ text: String) -> HTTPField.Name { HTTPField.Name(text) ?? .accept }
}

/// Judges replies of S3.
struct S3Judge: Sendable {
    /// The request's name in S3, for messages.
    let operation: String
    let mask: TokenMask
    let clock: ServerClock
    /// The region that the requests are signed for.
    let region: String
    /// The bucket of the requests.
    var bucket = ""
    /// What the keys of objects begin with.
    var prefix = ""
    /// Where the access keys come from.
    var keyPlace: String?
    /// The number of bytes that the request carried.
    var length: UInt64 = 0
    /// Whether requests that create objects carry settings of the configuration, such as a storage class.
    var hasStorageSettings = false

    /// How far a reply's `Date` may be from the clock before a refusal counts as one of the time, in milliseconds.
    /// Servers allow 15 minutes.
    private static let greatestSkew: Int64 = 5 * 60 * 1000

    /// The exceptions of S3: a 403 without a reason may mean anything, and a redirect names the bucket's region.
    private static let statuses = StatusTable(exceptions: [403: .odd, 409: .busyUpload])

    /// Returns the failure of a request without a reply.
    func failure(_ error: TransportError) -> RemoteFailure {
        RemoteFailure(error, endpoint: operation, hidingToken: mask.hide(in:))
    }

    /// Returns a reply outside the protocol.
    func badReply(_ why: String) -> RemoteFailure {
        .temporary(FileError(code: "bad_reply", message: "\(operation): bad reply: \(why)", retryable: true))
    }

    /// Returns the failure that a reply reports.
    ///
    /// - Parameter problem: see ``S3Problem``.
    func failure(_ problem: S3Problem, _ reply: HTTPReply) -> RemoteFailure {
        let failure = usualFailure(problem, reply)
        guard S3Options.isOdd(prefix: prefix) else { return failure }
        // Stores refuse such keys in many ways, or change them, which invalidates the signature.
        let isAboutKey =
            switch failure {
            case .permanent, .temporary(_, _, .gateway): (300...499).contains(problem.status)
            case .signedOut: problem.code == "SignatureDoesNotMatch"
            default: false
            }
        guard isAboutKey else { return failure }
        let message =
            "\(operation): the server answered \(problem.status)\(problem.code.map { " \(mask.hide(in: $0).prefix(100))" } ?? "")"
            + "; correct remote.prefix \"\(prefix)\": no part of it may be empty, as in \"\(S3Options.usual(prefix: prefix))\""
        return .temporary(
            FileError(code: "refused_setting", message: message, retryable: true),
            retryAfter: RetryAfter.duration(in: reply.headers), outlook: .lasting)
    }

    private func usualFailure(_ problem: S3Problem, _ reply: HTTPReply) -> RemoteFailure {
        let retryAfter = RetryAfter.duration(in: reply.headers)
        // S3 names the reason in XML.
        if problem.isForeign && problem.status < 500 || problem.code == nil && problem.status == 413 {
            return foreign(reply)
        }
        let said = [problem.code?.prefix(100), problem.message?.prefix(300)].compactMap(\.self)
            .map { mask.hide(in: String($0)) }
        let answer = said.isEmpty ? "\(problem.status)" : "\(problem.status) " + said.joined(separator: ": ")
        let message = "\(operation): the server answered \(answer)"
        func temporary(_ code: String, _ advice: String = "", _ outlook: Outlook = .lasting) -> RemoteFailure {
            .temporary(
                FileError(code: code, message: message + advice, retryable: true), retryAfter: retryAfter,
                outlook: outlook)
        }
        if let region = wrongRegion(problem) { return temporary("wrong_region", region) }
        if isAboutSettings(problem) {
            return temporary("refused_setting", "; correct the settings of [remote]: \(Self.settings(problem))")
        }
        switch isAboutTime(problem, reply) ? "RequestTimeTooSkewed" : problem.code {
        case "SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable", "Busy", "Throttling",
            "ThrottlingException", "TooManyRequests", "RequestLimitExceeded", "ServerBusy":
            return temporary("server_busy", "", .busy)
        case "RequestTimeout", "InternalError": return temporary("server_error", "", .trouble)
        // The bytes of this request arrived damaged.
        case "BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch":
            let error = FileError(code: "server_error", message: message, retryable: true)
            return .busyUpload(error, retryAfter: retryAfter)
        case "RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture":
            let ahead = clock.adopt(dateIn: reply.headers)
            let advice =
                ahead.map {
                    "; the server's clock is \($0) s ahead of this machine's, and the agent now signs with its time"
                }
                ?? "; correct this machine's clock"
            return temporary("clock_skew", advice, .trouble)
        case "ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken",
            "TokenRefreshRequired", "InvalidSecurity", "NotSignedUp", "AuthorizationQueryParametersError":
            let advice = "; correct the access keys" + (keyPlace.map { " (\($0))" } ?? "")
            return .signedOut(FileError(code: "signed_out", message: message + advice, retryable: true))
        case "NoSuchBucket":
            return temporary("no_such_bucket", "; create the bucket \(bucket), or correct remote.bucket")
        case "AccessDenied", "AllAccessDisabled", "AccountProblem", "InvalidObjectState",
            "AccessControlListNotSupported":
            return temporary("access_denied", "; allow the key \(Self.permission(for: operation))")
        case "QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "StorageFull": return temporary("server_full")
        case "NoSuchUpload", "NoSuchKey": return .forgotten
        default: break
        }
        if problem.code == nil, problem.status == 403 {
            return temporary("access_denied", "; check the key and its permission \(Self.permission(for: operation))")
        }
        let meaning = Self.statuses[problem.status]
        switch meaning {
        case .loginRequired: return .loginRequired(operation, retryAfter)
        case .redirect: return .portal(operation, "the server redirects (\(problem.status))")
        // S3 names what it misses (above). Without such a name, no file may fail for it.
        case .unknown, .wrongMethod: return wrongURL(answer, retryAfter)
        default:
            return meaning.failure(message, retryAfter: retryAfter)
                ?? .permanent(FileError(code: "refused", message: message, retryable: false))
        }
    }

    /// Whether a refusal may be one of the request's time: rclone gives it the status 400 and the code `AccessDenied`.
    private func isAboutTime(_ problem: S3Problem, _ reply: HTTPReply) -> Bool {
        guard problem.status == 400, problem.code == "AccessDenied",
            let date = reply.headers.first(.date).flatMap(HTTPDate.secondsSince1970)
        else { return false }
        return abs(date * 1000 - clock.now.milliseconds) > Self.greatestSkew
    }

    /// Whether a refusal concerns the configuration, or something that the store can't do, so that other files would
    /// fail as this one.
    private func isAboutSettings(_ problem: S3Problem) -> Bool {
        guard let code = problem.code else { return problem.status == 501 && !problem.isForeign }
        if code.hasPrefix("KMS.") || problem.status == 501 { return true }
        switch code {
        // InvalidRequest: a bucket with Object Lock wants checksums, for instance.
        case "InvalidStorageClass", "InvalidEncryptionAlgorithmError", "InvalidBucketName", "NotImplemented",
            "KMSInvalidStateException", "InvalidRequest":
            return true
        // Ceph refuses an unknown storage class or encryption so.
        case "InvalidArgument":
            return hasStorageSettings && ["PutObject", "CreateMultipartUpload"].contains(operation)
        default: return false
        }
    }

    private static func settings(_ problem: S3Problem) -> String {
        switch problem.code {
        case "InvalidBucketName": "bucket"
        case "InvalidRequest": "checksum, then storage_class, server_side_encryption, sse_kms_key_id and acl"
        default: "storage_class, server_side_encryption, sse_kms_key_id, acl and checksum"
        }
    }

    /// Returns what to correct if the bucket is in another region.
    private func wrongRegion(_ problem: S3Problem) -> String? {
        let codes = ["PermanentRedirect", "TemporaryRedirect", "Redirect", "IllegalLocationConstraintException"]
        let isRedirect = (300...399).contains(problem.status) || problem.code.map(codes.contains) == true
        let isScope = problem.code == "AuthorizationHeaderMalformed"
        guard isRedirect || isScope, problem.region != nil || problem.endpoint != nil || problem.code != nil else {
            return nil
        }
        let settings = [
            problem.region.map { "remote.region to \"\(mask.hide(in: String($0.prefix(60))))\"" },
            problem.endpoint.map { "remote.url to its endpoint \(mask.hide(in: String($0.prefix(200))))" },
        ].compactMap(\.self)
        if settings.isEmpty {
            return "; the bucket is not in the region \(region): correct remote.region and remote.url"
        }
        return "; the bucket is not in the region \(region): set \(settings.joined(separator: ", and "))"
    }

    private func wrongURL(_ answer: String, _ retryAfter: Duration?) -> RemoteFailure {
        .wrongURL(
            "\(operation): no S3 server at this address (the answer was \(answer)); check host, port and path of remote.url",
            retryAfter: retryAfter)
    }

    /// The reply of another server, which says nothing about the file.
    private func foreign(_ reply: HTTPReply) -> RemoteFailure {
        if (300...399).contains(reply.status) { return .portal(operation, "the server redirects (\(reply.status))") }
        return .foreign(operation, reply, expected: "S3", length: length, hidingToken: mask.hide)
    }

    /// The permission that a request needs.
    private static func permission(for operation: String) -> String {
        switch operation {
        case "HeadObject", "GetObject": "s3:GetObject and s3:ListBucket"
        case "AbortMultipartUpload": "s3:AbortMultipartUpload"
        case "ListParts": "s3:ListMultipartUploadParts"
        case "DeleteObject": "s3:DeleteObject"
        default: "s3:PutObject"
        }
    }
}
