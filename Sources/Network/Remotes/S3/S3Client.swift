import HTTPTypes
import Synchronization
import Transport
import UploadCore

/// Sends the requests of S3 to one bucket.
final class S3Client: Sendable {
    /// One request.
    struct Call: Sendable {
        /// The hexadecimal SHA-256 of no bytes.
        static let emptyPayload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

        /// The name in S3's documentation, for messages.
        var operation: String
        var method: HTTPRequest.Method
        /// The object; nil for the bucket.
        var key: String?
        var query: [(name: String, value: String)] = []
        var headers: HTTPFields = [:]
        var body: TransportRequest.Body = .none
        /// The hexadecimal SHA-256 of the body; nil to sign no payload.
        var payload: String? = Call.emptyPayload
        /// Maximum size of the reply in bytes. A page of 1,000 parts takes about 300 KiB.
        var maximumReplyLength = 4 << 20
        var onProgress: (@Sendable (UInt64) -> Void)?
    }

    /// A reply and what it reports.
    struct Answer: Sendable {
        let reply: HTTPReply
        /// The XML in the reply; nil without one.
        let root: XMLElement?
        /// Nil for a success.
        let problem: S3Problem?
        let judge: S3Judge

        /// The failure that the reply reports; nil for a success.
        var failure: RemoteFailure? { problem.map { judge.failure($0, reply) } }

        /// Whether the reply refuses to overwrite an object.
        var meansExists: Bool { problem?.status == 412 || problem?.code == "PreconditionFailed" }

        /// Whether the server does not implement something of the request.
        var meansNotImplemented: Bool { problem.map { $0.code == "NotImplemented" || $0.status == 501 } ?? false }

        /// Whether the reply says that the object or upload does not exist. A 404 without a code may come from another
        /// server.
        var meansMissing: Bool { ["NoSuchKey", "NoSuchUpload"].contains(problem?.code) }

        /// Whether the server failed without S3's XML, as moto does for a part of an unknown upload.
        var isUnexplained: Bool { problem?.status == 500 && problem?.code == nil }

        /// Checks that the reply reports success.
        func accept() throws(RemoteFailure) {
            if let failure { throw failure }
        }

        /// Returns the reply's XML.
        ///
        /// - Throws: the reported failure; `bad_reply` without XML.
        func document() throws(RemoteFailure) -> XMLElement {
            try accept()
            guard let root, root.name.lowercased() != "html" else {
                if WebPage.isBody(of: reply) { throw RemoteFailure.webPage(judge.operation) }
                throw judge.badReply("not the expected XML")
            }
            return root
        }
    }

    let options: S3Options
    let address: S3Address
    let transport: any HTTPTransport
    private let authorizer: any Authorizer
    private let clock: ServerClock
    private let keyPlace: String?
    /// Whether the server refused a request because of its condition.
    private let refusesConditions = Atomic(false)

    init(_ options: S3Options, transport: any HTTPTransport, credentials: any CredentialSource, clock: ServerClock) {
        self.options = options
        address = S3Address(endpoint: options.endpoint, bucket: options.bucket, style: options.pathStyle)
        self.transport = transport
        authorizer = SigV4Authorizer(credentials, url: address.base, region: options.region, clock: clock)
        self.clock = clock
        keyPlace = credentials.place
    }

    /// Sends a request and waits for the reply.
    func exchange(_ call: Call) async throws(RemoteFailure) -> Answer {
        var request = TransportRequest(
            method: call.method, url: address.url(of: call.key, query: call.query), headers: call.headers,
            body: call.body, maximumReplyLength: call.maximumReplyLength)
        request.onProgress = call.onProgress
        let mask = try await authorizer.authorize(&request, payload: call.payload)
        let judge = S3Judge(
            operation: call.operation, mask: mask, clock: clock, region: options.region,
            bucket: options.bucket, prefix: options.prefix, keyPlace: keyPlace, length: request.body.contentLength,
            hasStorageSettings: options.hasStorageSettings)
        do {
            let reply = try await transport.send(request)
            let root = reply.body.isEmpty ? nil : XMLElement(reply.body)
            return Answer(reply: reply, root: root, problem: S3Problem(reply, root), judge: judge)
        } catch {
            throw judge.failure(error)
        }
    }

    /// Sends a request that must not overwrite an object.
    ///
    /// Some stores refuse `If-None-Match` as not implemented. For these, a HEAD before each request replaces it.
    ///
    /// - Parameter looksFirst: whether to send a HEAD in any case, because some stores ignore the condition.
    /// - Returns: nil if an object has the key.
    func exchangeUnlessExists(
        _ call: Call, looksFirst: Bool = false
    ) async throws(RemoteFailure) -> Answer? {
        let key = call.key ?? ""
        if !refusesConditions.load(ordering: .relaxed) {
            if looksFirst, case .exists = try await look(key) { return nil }
            var conditional = call
            conditional.headers[.ifNoneMatch] = "*"
            let answer = try await exchange(conditional)
            if answer.meansExists { return nil }
            if !answer.meansNotImplemented { return answer }
            if case .stream(let body) = call.body {
                do {
                    try body.rewind()
                } catch {
                    throw answer.judge.failure(.body(error))
                }
            }
        }
        switch try await look(key) {
        case .exists: return nil
        case .missing: break
        case .hidden(let failure): throw failure
        }
        let answer = try await exchange(call)
        // A refusal of both requests was not about the condition.
        if answer.problem == nil { refusesConditions.store(true, ordering: .relaxed) }
        return answer
    }

    // MARK: Objects

    /// Lists the objects of a prefix.
    ///
    /// - Returns: nil if they do not fit into `ObjectList.mostPages`.
    func keys(under prefix: String) async throws(RemoteFailure) -> ObjectList.Keys? {
        var keys = ObjectList.Keys()
        var query = [
            (name: "list-type", value: "2"), (name: "max-keys", value: "1000"), (name: "prefix", value: prefix),
        ]
        while keys.pages < ObjectList.mostPages {
            let answer = try await exchange(Call(operation: "ListObjectsV2", method: .get, query: query))
            let page = try answer.document()
            for object in page.children where object.name == "Contents" { object["Key"].map { keys.insert($0) } }
            keys.pages += 1
            switch (page["IsTruncated"]?.lowercased(), page["NextContinuationToken"]) {
            case ("false", _): return keys
            case ("true", let token?): query = query.prefix(3) + [(name: "continuation-token", value: token)]
            default: throw answer.judge.badReply("it does not say where its list ends")
            }
        }
        return nil
    }

    /// What a HEAD says about a key.
    enum Presence: Equatable, Sendable {
        case missing
        case exists(S3Object)
        /// The credentials may not read. The failure says nothing about other uploads.
        case hidden(RemoteFailure)
    }

    /// Asks what is stored under a key.
    ///
    /// - Parameter confirmsAbsence: whether to ask for the reason of a 404, which another server may have sent.
    func look(_ key: String, confirmsAbsence: Bool = false) async throws(RemoteFailure) -> Presence {
        // The length in the reply is the object's, and no body follows.
        let head = Call(operation: "HeadObject", method: .head, key: key, maximumReplyLength: 1 << 60)
        let answer = try await exchange(head)
        guard let problem = answer.problem else {
            guard let object = S3Object(answer.reply) else {
                throw RemoteFailure.portal("HeadObject", "the answer of another server came instead of the object's")
            }
            return .exists(object)
        }
        if problem.status == 404, !confirmsAbsence { return .missing }
        guard [400, 403, 404].contains(problem.status) else { throw answer.judge.failure(problem, answer.reply) }
        return try await explain(key)
    }

    /// Asks for one byte of an object: the reply to a HEAD has no body, and so no reason.
    private func explain(_ key: String) async throws(RemoteFailure) -> Presence {
        let get = Call(
            operation: "GetObject", method: .get, key: key, headers: [.range: "bytes=0-0"], maximumReplyLength: 64 << 10
        )
        let answer = try await exchange(get)
        if answer.meansMissing { return .missing }
        guard let failure = answer.failure else {
            return .hidden(answer.judge.badReply("the server refuses a HEAD and answers a GET of the same object"))
        }
        guard case .temporary(let error, _, _) = failure, error.code == "access_denied" else { throw failure }
        return .hidden(failure.ofOneUpload)
    }
}

extension RemoteFailure {
    /// The failure without what it says about other uploads, if it is a lack of permission: the credentials may lack the
    /// permission for this request alone.
    var ofOneUpload: RemoteFailure {
        guard case .temporary(let error, let retryAfter, _) = self, error.code == "access_denied" else { return self }
        return .busyUpload(error, retryAfter: retryAfter)
    }
}

/// The facts of an object in the reply to a HEAD.
struct S3Object: Equatable, Sendable {
    var size: UInt64?
    var tag: ETag
    /// `x-amz-meta-md5`.
    var md5: String?
    /// `x-amz-meta-sha256`.
    var sha256: String?
    /// Whether the tag says nothing about the content, because a key of its own encrypts the object.
    var hasOpaqueTag: Bool

    /// Reads the facts.
    ///
    /// - Returns: nil if the reply has no field of S3. Other web servers give their pages an ETag, too.
    init?(_ reply: HTTPReply) {
        let fields = reply.headers
        let isS3 =
            fields.contains(where: { $0.name.canonicalName.hasPrefix("x-amz-") })
            || fields.contains(.eTag) && !WebPage.isBody(of: reply)
        guard isS3 else { return nil }
        size = fields.first(.contentLength).flatMap { UInt64($0) }
        tag = ETag(fields.first(.eTag) ?? "")
        md5 = fields.first(S3Header.metaMD5)?.lowercased()
        sha256 = fields.first(S3Header.metaSHA256)?.lowercased()
        // AWS, "Object": the ETag of an object with SSE-C or SSE-KMS is not the MD5 of its data.
        hasOpaqueTag =
            fields.contains(S3Header.customerEncryption)
            || fields.first(S3Header.encryption)?.hasPrefix("aws:kms") == true
    }

    /// Whether this is a content that another upload stored: size and digests agree.
    ///
    /// - Parameters:
    ///   - sha256: the content's SHA-256, if known; compared if the object's is known, too.
    ///   - joined: the tag of the content in parts, if known; compared if the object has as many parts.
    ///   - isDoubted: whether the metadata, which precede the bytes, prove nothing without a tag that agrees.
    func isContent(
        _ key: ContentKey, size: UInt64, sha256: StrongDigest?, joined: ETag? = nil, isDoubted: Bool = false
    ) -> Bool {
        guard self.size == size else { return false }
        if let sha256, self.sha256 != nil, !has(sha256) { return false }
        let digest = hasOpaqueTag ? nil : tag.digest
        var isProved = digest != nil
        if !hasOpaqueTag, let joined, tag.partCount == joined.partCount {
            guard tag.matches(joined) else { return false }
            isProved = true
        }
        if isDoubted, !isProved { return false }
        guard let md5 else { return digest == key }
        return md5 == key.description && (digest == nil || digest == key)
    }

    /// Whether the metadata name this SHA-256.
    func has(_ sha256: StrongDigest?) -> Bool { sha256 != nil && self.sha256 == sha256?.description }

    /// Whether this is what the agent has just sent: the size and the tag agree. The metadata, which the agent sent
    /// itself, count only if the tag can't be compared.
    ///
    /// - Parameter tag: the tag that follows from the parts' tags, or that of the reply to a PutObject; nil if unknown.
    func isSent(_ key: ContentKey, size: UInt64, tag: ETag?) -> Bool {
        guard self.size == size else { return false }
        if !hasOpaqueTag, let digest = self.tag.digest { return digest == key }
        if let tag, self.tag.matches(tag) { return true }
        if !hasOpaqueTag, let count = tag?.partCount, self.tag.partCount == count { return false }
        return md5 == key.description
    }
}
