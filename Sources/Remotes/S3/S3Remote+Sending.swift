import HTTPTypes
import Transport
public import UploadCore

extension S3Remote {
    /// `PutObject` of a content in one part, or `UploadPart`. Reads the bytes twice, since their digests precede them.
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
        let details =
            upload.details
            ?? UploadDescription(key: upload.key, plan: upload.plan, path: .root, type: upload.type, modified: nil)
        var call = S3Client.Call(operation: "PutObject", method: .put, key: key, headers: objectHeaders(details))
        // The content's key is its MD5.
        try await attach(fragment.body, to: &call, md5: upload.key)
        call.onProgress = fragment.onProgress
        let answer = try await client.exchangeUnlessExists(call)
        guard answer.meansExists else { return PartReceipt(tag: try Self.tag(in: answer)) }
        // An earlier request stored the object and its reply was lost, or somebody else took the name.
        switch try await client.look(key) {
        case .exists(let object) where object.isContent(upload.key, size: upload.plan.size, sha256: details.sha256):
            return PartReceipt(tag: object.tag)
        case .exists: throw .forgotten
        case .missing:
            let message = "PutObject: the object existed, and was deleted meanwhile"
            throw .busyUpload(FileError(code: "server_busy", message: message, retryable: true))
        case .hidden(let failure): throw failure
        }
    }

    private func sendPart(_ fragment: OutgoingFragment, _ key: String) async throws(RemoteFailure) -> PartReceipt {
        var call = S3Client.Call(
            operation: "UploadPart", method: .put, key: key,
            query: [("partNumber", "\(fragment.index + 1)"), ("uploadId", fragment.upload.handle.id)])
        try await attach(fragment.body, to: &call)
        call.onProgress = fragment.onProgress
        let answer = try await client.exchange(call)
        return PartReceipt(tag: try Self.tag(in: answer), sha256: call.headers[S3Header.checksumSHA256])
    }

    /// Adds a body with its digests to a request.
    ///
    /// - Parameter md5: the MD5 of the body, if known.
    func attach(
        _ body: any BodySource, to call: inout S3Client.Call, md5: ContentKey? = nil
    ) async throws(RemoteFailure) {
        var wish: BodyDigests.Wish = signsPayload ? .sha256 : []
        switch options.checksum {
        case .md5: if md5 == nil { wish.insert(.md5) }
        case .crc64nvme: wish.insert(.crc64nvme)
        case .sha256: wish.insert(.sha256)
        case .none: break
        }
        let digests: BodyDigests
        do {
            digests = try await digester.digests(of: body, wish)
        } catch {
            throw RemoteFailure(error, endpoint: call.operation)
        }
        call.body = .stream(body)
        call.payload = signsPayload ? digests.sha256?.hexadecimal : nil
        switch options.checksum {
        case .md5: call.headers[S3Header.contentMD5] = (md5 ?? digests.md5)?.bytes.base64
        case .crc64nvme:
            call.headers[S3Header.checksumCRC64NVME] = digests.crc64nvme.map { value in
                withUnsafeBytes(of: value.bigEndian) { Array($0).base64 }
            }
        case .sha256: call.headers[S3Header.checksumSHA256] = digests.sha256?.base64
        case .none: break
        }
    }

    /// Whether signatures cover the bodies of parts. Without checksums, TLS alone protects them.
    private var signsPayload: Bool { options.checksum != .none || !client.address.base.hasPrefix("https:") }

    /// Returns the tag in the reply to a part or an object.
    private static func tag(in answer: S3Client.Answer) throws(RemoteFailure) -> ETag {
        try answer.accept()
        guard WebPage.isBlank(answer.reply) || answer.reply.headers.contains(.eTag) else {
            throw RemoteFailure.portal(answer.judge.operation, "a web page came instead of the server's answer")
        }
        return ETag(answer.reply.headers.first(.eTag) ?? "")
    }

    // MARK: After a restart

    /// `ListParts`: the store's list of parts is the truth. For a PutObject there is nothing to ask.
    public func resume(_ upload: RemoteUpload) async throws(RemoteFailure) -> ResumePoint {
        upload.handle.id.isEmpty ? .asRecorded : .fragments(try await parts(of: upload).mapValues(\.text))
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
