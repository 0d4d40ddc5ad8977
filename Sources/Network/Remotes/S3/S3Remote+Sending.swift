import Digests
import HTTPTypes
import Synchronization
import Transport
public import UploadCore

extension S3Remote {
    /// `PutObject` of a content in one part, or `UploadPart`. If the digests of the bytes, which precede them, are not in
    /// ``partDigests``, reads the bytes twice.
    ///
    /// - Returns: the part's ETag, see ``PartReceipt``.
    public func send(_ fragment: OutgoingFragment) async throws(RemoteFailure) -> String? {
        let handle = fragment.upload.handle
        guard let key = handle.object else { throw .forgotten }
        if handle.id.isEmpty { return try await put(fragment, key).text }
        return try await sendPart(fragment, key).text
    }

    private func put(_ fragment: OutgoingFragment, _ key: String) async throws(RemoteFailure) -> PartReceipt {
        let upload = fragment.upload
        // A new claim means that an earlier run looked for the object.
        let claim = claims.claim(key, for: upload.key, upload: "")
        if claim == .refused { throw .forgotten }
        let details =
            upload.details
            ?? UploadDescription(key: upload.key, plan: upload.plan, path: .root, type: upload.type, modified: nil)
        var call = S3Client.Call(operation: "PutObject", method: .put, key: key, headers: objectHeaders(details))
        try await attach(fragment.body, to: &call, known: knownDigests(of: fragment))
        call.onProgress = fragment.onProgress
        do throws(RemoteFailure) {
            if let answer = try await client.exchangeUnlessExists(call, looksFirst: claim == .new) {
                return PartReceipt(tag: try Self.tag(in: answer))
            }
        } catch {
            partDigests?.remove(upload.key)
            throw error
        }
        objectList.withLock { $0.insert(key) }
        let object = try await stored(key)
        guard object.isContent(upload.key, size: upload.plan.size, sha256: details.sha256),
            details.sha256 == nil || object.has(details.sha256)
        else { throw .forgotten }
        return PartReceipt(tag: object.tag)
    }

    /// Returns the object whose key a PutObject found taken: an earlier request stored it and its reply was lost, or somebody
    /// else took the name.
    func stored(_ key: String) async throws(RemoteFailure) -> S3Object {
        switch try await client.look(key) {
        case .exists(let object): return object
        case .missing:
            let message = "PutObject: the object existed, and was deleted meanwhile"
            throw .busyUpload(FileError(code: "server_busy", message: message, retryable: true))
        case .hidden(let failure): throw failure
        }
    }

    private func sendPart(_ fragment: OutgoingFragment, _ key: String) async throws(RemoteFailure) -> PartReceipt {
        claims.claim(key, for: fragment.upload.key, upload: fragment.upload.handle.id)
        var call = S3Client.Call(
            operation: "UploadPart", method: .put, key: key,
            query: [("partNumber", "\(fragment.index + 1)"), ("uploadId", fragment.upload.handle.id)])
        try await attach(fragment.body, to: &call, known: knownDigests(of: fragment))
        call.onProgress = fragment.onProgress
        let answer = try await client.exchange(call)
        // Another content with the same MD5 may have other digests. Compute them for the next attempt.
        if answer.problem?.status == 400 { partDigests?.remove(fragment.upload.key) }
        try await explain(answer, fragment.upload)
        let tag = try Self.tag(in: answer)
        let isEncrypted = [S3Header.encryption, S3Header.customerEncryption].contains {
            answer.reply.headers.contains($0)
        }
        if let digest = tag.digest, let sent = call.headers[S3Header.contentMD5], digest.bytes.base64 != sent,
            !isEncrypted
        {
            let message = "UploadPart: the server has other bytes than were sent: the part's ETag is \(tag.text)"
            throw .busyUpload(FileError(code: "bad_reply", message: message, retryable: true))
        }
        return PartReceipt(tag: tag, sha256: call.headers[S3Header.checksumSHA256])
    }

    /// Finds out whether a refusal means that the upload must start over.
    ///
    /// - Throws: `.forgotten` if it must.
    func explain(_ answer: S3Client.Answer, _ upload: RemoteUpload) async throws(RemoteFailure) {
        // An earlier run created the upload for other checksums: `remote.checksum` was changed.
        if answer.problem?.code == "InvalidRequest", !claims.hasCreated(upload.handle.id, of: upload.key) {
            throw .forgotten
        }
        if answer.isUnexplained { _ = try await parts(of: upload) }
    }

    /// Adds a body with its digests to a request.
    ///
    /// - Parameter known: the digests of the body as far as they are known.
    func attach(
        _ body: any BodySource, to call: inout S3Client.Call, known: BodyDigests = BodyDigests()
    ) async throws(RemoteFailure) {
        let signs = Self.signsPayload(options, client)
        var digests = known
        do {
            let missing = Self.digests(for: options.checksum, signed: signs).subtracting(known.contained)
            digests.merge(try await digester.digests(of: body, missing))
        } catch {
            throw RemoteFailure(error, endpoint: call.operation)
        }
        call.body = .stream(body)
        call.payload = signs ? digests.sha256?.hexadecimal : nil
        switch options.checksum {
        case .md5: call.headers[S3Header.contentMD5] = digests.md5?.bytes.base64
        case .crc64nvme:
            call.headers[S3Header.checksumCRC64NVME] = digests.crc64nvme.map { value in
                withUnsafeBytes(of: value.bigEndian) { Array($0).base64 }
            }
        case .sha256: call.headers[S3Header.checksumSHA256] = digests.sha256?.base64
        case .none: break
        }
    }

    /// Returns the digests of a fragment that were computed with the content's key. Changed bytes would not match them,
    /// and the reader of the fragment notices them, too.
    private func knownDigests(of fragment: OutgoingFragment) -> BodyDigests {
        var known = BodyDigests()
        let upload = fragment.upload
        if let part = partDigests?.digests(of: upload.key, upload.plan, part: fragment.index) {
            known.md5 = part.md5.flatMap { ContentKey(digest: $0) }
            known.sha256 = part.sha256
        }
        // The content's key is its MD5.
        if upload.plan.count <= 1 { known.md5 = upload.key }
        return known
    }

    /// Whether signatures cover the bodies of parts. Without checksums, TLS alone protects them.
    static func signsPayload(_ options: S3Options, _ client: S3Client) -> Bool {
        options.checksum != .none || !client.address.base.hasPrefix("https:")
    }

    /// Returns the digests that a request with a body needs.
    static func digests(for checksum: S3Checksum, signed: Bool) -> BodyDigests.Wish {
        var wish: BodyDigests.Wish = signed ? .sha256 : []
        switch checksum {
        case .md5: wish.insert(.md5)
        case .crc64nvme: wish.insert(.crc64nvme)
        case .sha256: wish.insert(.sha256)
        case .none: break
        }
        return wish
    }

    /// Returns the tag in the reply to a part or an object.
    static func tag(in answer: S3Client.Answer) throws(RemoteFailure) -> ETag {
        try answer.accept()
        guard WebPage.isBlank(answer.reply) || answer.reply.headers.contains(.eTag) else {
            throw RemoteFailure.webPage(answer.judge.operation)
        }
        return ETag(answer.reply.headers.first(.eTag) ?? "")
    }

    // MARK: After a restart

    /// `ListParts`: the store's list of parts is the truth. For a PutObject there is nothing to ask, and without the
    /// permission to list parts, the ledger must do: the completion finds out whether a part is missing.
    public func resume(_ upload: RemoteUpload) async throws(RemoteFailure) -> ResumePoint {
        guard let key = upload.handle.object, !upload.handle.id.isEmpty else { return .unasked }
        claims.claim(key, for: upload.key, upload: upload.handle.id)
        do throws(RemoteFailure) {
            return .fragments(try await parts(of: upload).mapValues(\.text))
        } catch {
            guard case .busyUpload(let reason, _) = error, reason.code == "access_denied" else { throw error }
            return .asRecorded
        }
    }

    /// Returns the parts that the store has, by index. Leaves out parts of another size than planned.
    func parts(of upload: RemoteUpload) async throws(RemoteFailure) -> [Int: PartReceipt] {
        guard let key = upload.handle.object else { throw .forgotten }
        var parts: [Int: PartReceipt] = [:]
        var marker = 0
        while true {
            var call = S3Client.Call(operation: "ListParts", method: .get, key: key)
            call.query = [("max-parts", "1000"), ("part-number-marker", "\(marker)"), ("uploadId", upload.handle.id)]
            let answer = try await client.exchange(call)
            if let failure = answer.failure { throw failure.ofOneUpload }
            guard let page = S3Messages.PartList(try answer.document()) else {
                throw answer.judge.badReply("no ListPartsResult")
            }
            for part in page.parts where (1...max(1, upload.plan.count)).contains(part.number) {
                let size = UInt64(upload.plan.range(of: part.number - 1).count)
                if part.size == size { parts[part.number - 1] = part.receipt }
            }
            guard let next = page.next else { return parts }
            guard next > marker else { throw answer.judge.badReply("its pages of parts have no end") }
            marker = next
        }
    }
}
