import Digests
import HTTPTypes
import Transport
public import UploadCore

extension S3Remote {
    /// `CompleteMultipartUpload`, then `HeadObject` to compare size and tag or metadata with what was sent. Sends nothing
    /// for a PutObject whose reply named the content's MD5.
    public func finish(_ uploads: [RemoteUpload]) async -> [Result<FinishOutcome, RemoteFailure>] {
        await uploads.oneByOne { upload throws(RemoteFailure) in
            let outcome = try await finish(upload)
            if case .confirmed = outcome {
                claims.release(upload.key)
                partDigests?.remove(upload.key)
            }
            return outcome
        }
    }

    /// `HeadObject`. The handle's id is the object's key.
    public func prove(_ uploads: [RemoteUpload]) async -> [Result<FinishOutcome, RemoteFailure>] {
        await uploads.oneByOne { upload throws(RemoteFailure) -> FinishOutcome in
            let key = upload.handle.name
            switch try await client.look(key, confirmsAbsence: true) {
            case .exists(let object):
                guard await holds(object, upload.key, upload.plan) else { throw .forgotten }
                return .confirmed(finished(key))
            case .missing: throw .forgotten
            case .hidden(let failure): throw failure
            }
        }
    }

    private func finish(_ upload: RemoteUpload) async throws(RemoteFailure) -> FinishOutcome {
        guard let key = upload.handle.object else { throw .forgotten }
        if upload.handle.id.isEmpty {
            let tag = PartReceipt(upload.receipts[0] ?? "").tag
            if tag.digest == upload.key { return .confirmed(finished(key)) }
            return try await verify(upload, key, tag, after: .put)
        }
        guard let receipts = try await receipts(of: upload) else {
            return try await verify(upload, key, nil, after: .forgotten)
        }
        guard receipts.count == upload.plan.count else {
            let message = "the server has \(receipts.count) of \(upload.plan.count) parts"
            return .failed(FileError(code: "assembly_failed", message: "ListParts: \(message)", retryable: true))
        }
        return try await complete(upload, key, receipts)
    }

    /// Returns the receipts of all parts in order, as the ledger has them. If one lacks its tag, the server is asked.
    ///
    /// - Returns: nil if the server does not know the upload.
    private func receipts(of upload: RemoteUpload) async throws(RemoteFailure) -> [PartReceipt]? {
        var receipts = await digester.perform { upload.receipts.mapValues { PartReceipt($0) } }
        if receipts.count < upload.plan.count || receipts.values.contains(where: \.tag.text.isEmpty) {
            do {
                receipts = try await parts(of: upload)
            } catch RemoteFailure.forgotten {
                return nil
            }
        }
        return receipts.sorted { $0.key < $1.key }.map(\.value)
    }

    /// - Parameter isRepeated: whether the receipts are the server's own, because it refused the recorded ones.
    private func complete(
        _ upload: RemoteUpload, _ key: String, _ receipts: [PartReceipt], isRepeated: Bool = false
    ) async throws(RemoteFailure) -> FinishOutcome {
        guard claims.claim(key, for: upload.key, upload: upload.handle.id) != .refused else {
            let message =
                "CompleteMultipartUpload: another file is being sent as \(key), and this one waits for its end"
            throw .busyUpload(FileError(code: "name_taken", message: message, retryable: true))
        }
        let (body, digests, tag) = await digester.perform {
            let body = S3Messages.completion(receipts)
            return (body, BodyDigests(of: body, [.md5, .sha256]), ETag(ofParts: receipts.map(\.tag)))
        }
        var call = S3Client.Call(
            operation: "CompleteMultipartUpload", method: .post, key: key, query: [("uploadId", upload.handle.id)])
        call.headers[.contentType] = "application/xml"
        call.headers[S3Header.contentMD5] = digests.md5?.bytes.base64
        call.body = .bytes(body)
        call.payload = digests.sha256?.hexadecimal
        guard let answer = try await client.exchangeUnlessExists(call, looksFirst: true) else {
            return try await verify(upload, key, tag, after: .taken)
        }
        if answer.meansMissing { return try await verify(upload, key, tag, after: .forgotten) }
        if let problem = answer.problem, ["InvalidPart", "InvalidPartOrder"].contains(problem.code) {
            if !isRepeated {
                let parts = try await parts(of: upload)
                if parts.count == upload.plan.count {
                    let listed = parts.sorted { $0.key < $1.key }.map(\.value)
                    return try await complete(upload, key, listed, isRepeated: true)
                }
            }
            let reason = answer.judge.mask.hide(in: String((problem.message ?? "InvalidPart").prefix(300)))
            let message = "\(call.operation): the server refuses the parts: \(reason)"
            return .failed(FileError(code: "assembly_failed", message: message, retryable: true))
        }
        try await explain(answer, upload)
        // A 200 begins before the store has joined the parts: only the document in the body says that it has. Stores give
        // that document several names.
        _ = try answer.document()
        return try await verify(upload, key, tag, after: .completed)
    }

    /// What the server said before an object is compared.
    private enum Step {
        /// It has the object.
        case put
        /// It joined the parts.
        case completed
        /// It does not know the upload: it may have joined the parts before, and its reply was lost.
        case forgotten
        /// An object has the name: this one, or another.
        case taken
    }

    private func verify(
        _ upload: RemoteUpload, _ key: String, _ tag: ETag?, after step: Step
    ) async throws(RemoteFailure) -> FinishOutcome {
        let presence = try await client.look(key, confirmsAbsence: step != .completed)
        switch presence {
        case .exists(let object) where object.isSent(upload.key, size: upload.plan.size, tag: tag):
            if step == .taken { try await abort(upload) }
            return .confirmed(finished(key))
        case .hidden(let failure): throw failure
        case .missing where step == .completed: return .assembling
        case .exists, .missing: break
        }
        switch step {
        case .completed,
            .put where presence != .missing:
            let message = "HeadObject: the object \(key) is not what was sent: its size or its ETag differs"
            return .failed(FileError(code: "assembly_failed", message: message, retryable: true))
        // The next registration finds another name.
        case .taken, .put, .forgotten: throw .forgotten
        }
    }

    /// Aborts an upload whose content another one may have stored: its parts would stay.
    ///
    /// - Throws: `.forgotten` if the credentials may not abort it. The next registration finds the object, and the machine
    ///   removes the upload later.
    private func abort(_ upload: RemoteUpload) async throws(RemoteFailure) {
        do throws(RemoteFailure) {
            try await remove([upload.handle])
        } catch {
            if case .busyUpload = error { throw .forgotten }
            throw error
        }
    }
}
