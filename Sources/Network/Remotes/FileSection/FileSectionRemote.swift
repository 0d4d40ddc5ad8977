import FoundationEssentials
import HTTPTypes
public import Transport
import URLs
public import UploadCore

/// The fileSection protocol, see docs/protocol.md.
public final class FileSectionRemote: Remote {
    /// The protocol's traits: batches of 50, fragments of 512 KiB in any order.
    public static let protocolTraits = RemoteTraits(batch: 50, lookahead: 50)
    /// See ``protocolTraits``.
    public let traits = FileSectionRemote.protocolTraits
    /// The server's address and the account.
    public let scope: RemoteScope
    /// The transport's thread.
    public var executor: (any TaskExecutor)? { transport.executor }

    let base: String
    private let transport: any HTTPTransport
    private let authorizer: any Authorizer
    private let usualReceipt = UsualReply()
    private let groups: FragmentGroups

    /// Creates a remote for one server and account.
    ///
    /// - Parameters:
    ///   - url: the server's base address without a trailing slash.
    ///   - account: the owner of the uploads; part of the scope.
    ///   - transport: sends the requests.
    ///   - authorizer: adds the token to each request.
    public init(url: String, account: String, transport: any HTTPTransport, authorizer: any Authorizer) {
        base = url
        scope = RemoteScope(protocolName: "filesection", server: url, account: account)
        self.transport = transport
        self.authorizer = authorizer
        groups = FragmentGroups(executor: transport.executor)
    }

    /// `POST /fileSection/preLoad.do`.
    public func register(_ uploads: [UploadDescription]) async -> [Result<Registration, RemoteFailure>] {
        var judge = ReplyJudge(endpoint: "preLoad.do", subject: .noID)
        do throws(RemoteFailure) {
            let body = Messages.PreLoad(fileCount: uploads.count, files: uploads.map(Messages.PreLoad.File.init))
            let reply = try await post("/fileSection/preLoad.do", body, &judge)
            let data = try judge.data(Messages.PreLoadReply.self, of: reply)
            let ids = data.fileIds
            guard ids.count == uploads.count, ids.allSatisfy(\.isLegal), Set(ids.map(\.text)).count == ids.count,
                // Ids stand in sidecars and in the log.
                !ids.contains(where: { judge.mask.isToken($0.text) })
            else {
                let message = "preLoad.do: bad reply: it must have one valid id for each of the \(uploads.count) files"
                throw .temporary(FileError(code: "bad_reply", message: message, retryable: true))
            }
            groups.setMost(fragments: data.blocksPerRequest, bytes: data.bytesPerRequest)
            let existing = Set((data.existing ?? []).map(\.text))
            return ids.map { id in
                existing.contains(id.text)
                    ? .success(.existing(RemoteObject(id: id.text, url: nil)))
                    : .success(.registered(RemoteHandle(id: id.text), .asRecorded))
            }
        } catch {
            return uploads.map { _ in .failure(error) }
        }
    }

    /// Sends no request: the protocol has no query for progress.
    public func resume(_ upload: RemoteUpload) async throws(RemoteFailure) -> ResumePoint { .unasked }

    /// `POST /fileSection/upload.do`.
    public func send(_ fragment: OutgoingFragment) async throws(RemoteFailure) -> String? {
        try await groups.send(fragment) { await self.send(together: $0) }.get()
        return nil
    }

    /// Sends several fragments in one request.
    func send(together fragments: [OutgoingFragment]) async -> FragmentGroups.Outcome {
        var judge = ReplyJudge(endpoint: ReplyJudge.fragments, subject: .knownIDs, usual: usualReceipt)
        var request = TransportRequest(
            method: .post, url: base + "/fileSection/upload.do", body: .multipart(fragments.map(part)))
        request.onProgress = Self.progress(of: fragments)
        do throws(RemoteFailure) {
            let reply = try await send(request, &judge, fileBlock: Messages.fileBlock(fragments))
            try judge.accept(reply)
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func part(_ fragment: OutgoingFragment) -> MultipartPart {
        let type = fragment.upload.type
        let fileExtension = MediaSignatures.fileExtension(for: type)
        let contentType =
            switch type.kind {
            case .image: "image/\(fileExtension)"
            case .video: "video/\(fileExtension)"
            case .other: "application/octet-stream"
            }
        return MultipartPart(
            name: "sectionFile", fileName: "\(fragment.upload.handle.id)-\(fragment.index).\(fileExtension)",
            contentType: contentType, source: fragment.body)
    }

    /// Divides the progress of a request among its fragments, which are sent in order.
    static func progress(of fragments: [OutgoingFragment]) -> (@Sendable (UInt64) -> Void)? {
        if fragments.count == 1 { return fragments[0].onProgress }
        return { bytes in
            var start: UInt64 = 0
            for fragment in fragments {
                // 0 if the request starts over.
                fragment.onProgress?(min(bytes - min(start, bytes), fragment.body.length))
                start += fragment.body.length
            }
        }
    }

    /// `POST /fileSection/isFinish.do`.
    public func finish(_ uploads: [RemoteUpload]) async -> [Result<FinishOutcome, RemoteFailure>] {
        var judge = ReplyJudge(endpoint: "isFinish.do", subject: .knownIDs)
        do throws(RemoteFailure) {
            let body = Messages.FileIDs(fileIds: uploads.map(\.handle.id))
            let reply = try await post("/fileSection/isFinish.do", body, &judge)
            let answer = try judge.data(Messages.IsFinishReply.self, of: reply)
            guard (0...2).contains(answer.finishStatus) else {
                let message = "isFinish.do: bad reply: unknown finishStatus \(answer.finishStatus)"
                throw .temporary(FileError(code: "bad_reply", message: message, retryable: true))
            }
            let verdict = FinishVerdict(answer, asked: uploads.count, hidingToken: judge.hidingToken)
            return uploads.map(verdict.outcome)
        } catch {
            return uploads.map { _ in .failure(error) }
        }
    }

    /// `POST /fileSection/delete.do`.
    public func remove(_ handles: [RemoteHandle]) async throws(RemoteFailure) {
        var judge = ReplyJudge(endpoint: "delete.do", subject: .knownIDs)
        let reply = try await post("/fileSection/delete.do", Messages.FileIDs(fileIds: handles.map(\.id)), &judge)
        do {
            try judge.accept(reply)
        } catch RemoteFailure.forgotten {}
    }

    func post(
        _ path: String, _ body: some Encodable, _ judge: inout ReplyJudge
    ) async throws(RemoteFailure) -> HTTPReply {
        let bytes: [UInt8]
        do {
            let encoder = JSONEncoder()
            // Sorted keys make repeated requests byte-identical.
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            bytes = Array(try encoder.encode(body))
        } catch {
            let message = "\(judge.endpoint): the request can't be written as JSON: \(error)"
            throw .permanent(FileError(code: "bad_request", message: message, retryable: false))
        }
        let request = TransportRequest(
            method: .post, url: base + path, headers: [.contentType: "application/json"], body: .bytes(bytes))
        return try await send(request, &judge)
    }

    /// - Parameters:
    ///   - judge: learns the token sent, to hide it in texts of the reply.
    ///   - fileBlock: the value of the header field `file_block`; nil to omit the field.
    func send(
        _ request: TransportRequest, _ judge: inout ReplyJudge, fileBlock: String? = nil
    ) async throws(RemoteFailure) -> HTTPReply {
        var request = request
        judge.length = request.body.contentLength
        judge.mask = try await authorizer.authorize(&request, payload: nil)
        do {
            if let fileBlock { try request.headers.add("file_block", fileBlock) }
            return try await transport.send(request)
        } catch {
            throw judge.failure(error)
        }
    }
}

/// The meaning of an isFinish reply for each upload in the request.
struct FinishVerdict {
    private let status: Int
    private let failed: Set<String>
    private let unknown: Set<String>
    private let urls: [String: String]
    private let digests: [String: String]
    private let asked: Int
    private let hidingToken: (String) -> String

    /// - Parameter hidingToken: removes the account's token from texts of the reply.
    init(_ reply: Messages.IsFinishReply, asked: Int, hidingToken: @escaping (String) -> String) {
        self.hidingToken = hidingToken
        status = reply.finishStatus
        failed = Self.ids(reply.failFileIds)
        unknown = Self.ids(reply.unknownFileIds)
        urls = (reply.urls ?? [:]).compactMapValues { $0.flatMap { WebURL.isAnswer($0) ? $0 : nil } }
        digests = (reply.md5 ?? [:]).compactMapValues(\.self)
        self.asked = asked
    }

    private static func ids(_ list: String?) -> Set<String> {
        Set((list ?? "").split(separator: ",").map { String($0.filter { $0 != " " }) })
    }

    func outcome(of upload: RemoteUpload) -> Result<FinishOutcome, RemoteFailure> {
        let id = upload.handle.id
        if unknown.contains(id) { return .failure(.forgotten) }
        if let digest = digests[id], ContentKey(hexadecimal: digest) != upload.key {
            let found = hidingToken(digest).prefix(32)
            return .success(.failed(failure("the server assembled \(id) with MD5 \(found)")))
        }
        switch status {
        case 1: return .success(.confirmed(RemoteObject(id: id, url: urls[id].map(hidingToken))))
        case 2: return .success(.assembling)
        default: break
        }
        if failed.contains(id) {
            return .success(.failed(failure("the server could not assemble \(id)")))
        }
        // Other uploads failed: ask about this upload again, without them.
        if !failed.isEmpty { return .success(.assembling) }
        // The reply names no upload: a single upload must have failed. For several, `forgotten` makes the upload
        // machine ask about each one alone.
        return asked == 1
            ? .success(.failed(failure("the server could not assemble \(id)"))) : .failure(.forgotten)
    }

    private func failure(_ what: String) -> FileError {
        FileError(code: "assembly_failed", message: "isFinish.do: \(what)", retryable: true)
    }
}

extension FileSectionRemote: PortraitRemote {
    /// `POST /user/portrait.do`.
    public func replacePortrait(_ picture: any BodySource) async throws(RemoteFailure) -> String {
        var judge = ReplyJudge(endpoint: "portrait.do", subject: .noID)
        let part = MultipartPart(
            name: "portrait", fileName: "portrait.jpg", contentType: "image/jpeg", source: picture)
        let request = TransportRequest(method: .post, url: base + "/user/portrait.do", body: .multipart([part]))
        let answer = try await send(request, &judge)
        let reply = try judge.data(Messages.PortraitReply.self, of: answer)
        guard WebURL.isAnswer(reply.userImg) else {
            let message = "portrait.do: bad reply: userImg is not an http or https URL of at most 2048 bytes"
            throw .temporary(FileError(code: "bad_reply", message: message, retryable: true))
        }
        return judge.hidingToken(reply.userImg)
    }
}

extension FileSectionRemote: SourceRemote {
    /// `POST /source/commit.do`.
    public func commit(_ commit: SourceCommit) async throws(RemoteFailure) -> CommitOutcome {
        var judge = ReplyJudge(endpoint: "commit.do", subject: .knownIDs)
        let message = Messages.Commit(commit)
        let reply = try await post("/source/commit.do", message, &judge)
        let data = judge.optionalData(Messages.CommitReply.self, of: reply)
        if let latest = data?.revision, Messages.CommitReply.revisions.contains(latest), judge.code(of: reply) == 409 {
            return .taken(latest: max(latest, commit.revision))
        }
        try judge.accept(reply)
        if let digest = data?.listDigest, digest != message.listDigest { return .taken(latest: commit.revision) }
        // The server has accepted the post; without a usable URL the post has none, and another request would return
        // no other.
        guard let url = data?.url, WebURL.isAnswer(url) else { return .done(url: nil) }
        return .done(url: judge.hidingToken(url))
    }
}
