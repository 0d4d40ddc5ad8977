import HTTPTypes
public import Transport
import URLs
import UploadCore

/// Examines an S3 store with a small object under `remote.prefix`: whether the keys may write, read and delete it, whether
/// the store keeps it from being overwritten, and whether the keys may begin, list and abort an upload in parts. The requests
/// that write are those of the agent, with the same settings.
public struct S3Examiner: RemoteExaminer {
    /// The content of the object.
    private static let text = Array("outbox doctor\n".utf8)

    /// How long a whole part may take.
    private static let longestPart = Duration.seconds(10)

    private let remote: S3Remote
    private let upload: UploadDescription
    private let key: String
    private var client: S3Client { remote.client }

    /// Creates an examiner.
    ///
    /// - Parameters:
    ///   - options: the bucket.
    ///   - transport: sends the requests.
    ///   - credentials: supplies the access keys.
    ///   - clock: the time of signatures.
    public init(
        _ options: S3Options, transport: any HTTPTransport, credentials: any CredentialSource,
        clock: ServerClock = ServerClock()
    ) {
        remote = S3Remote(options, account: "", transport: transport, credentials: credentials, clock: clock)
        let name = "outbox-doctor.txt"
        key = options.prefix + name
        upload = UploadDescription(
            key: BodyDigests(of: Self.text, .md5).md5 ?? ContentKey(high: 0, low: 0),
            plan: FragmentPlan(size: UInt64(Self.text.count)), path: RelativePath(name) ?? .root,
            type: MediaType(kind: .other, mime: "text/plain"), modified: nil)
    }

    /// Sends eight requests, one more if this machine's clock is wrong.
    public func examine() async -> RemoteExamination {
        var examination = RemoteExamination(findings: [])
        do throws(RemoteFailure) {
            try await examine(&examination)
        } catch {
            examination.findings.append(
                .init(error, credentials: "Correct the access keys; see `man agent.toml`, table [remote]."))
        }
        return examination
    }

    private func examine(_ examination: inout RemoteExamination) async throws(RemoteFailure) {
        let bucket = client.options.bucket
        examination.findings += settingFindings
        var first = try await put(&examination)
        if let failure = first.failure, case .temporary(let error, _, _) = failure, error.code == "clock_skew" {
            examination.findings.append(.init(.warning, error.message, remedy: "Set this machine's clock."))
            first = try await put(&examination)
        }
        // An object that an earlier examination could not delete.
        let existed = first.meansExists
        if !existed { _ = try S3Remote.tag(in: first) }
        examination.findings.append(.init(.ok, "the access keys are valid, and may write to the bucket \(bucket)"))
        let second = existed ? first : try await put(&examination)
        if second.meansExists {
            examination.findings.append(.init(.ok, "the store protects objects from being overwritten (If-None-Match)"))
        } else {
            try second.accept()
            examination.findings.append(
                .init(
                    .note, "the store does not support If-None-Match; the agent asks for an object before it sends one",
                    remedy: "Let no other program write the same keys, or leave {key} in remote.key."))
        }
        var isForeign = false
        switch try await client.look(key) {
        case .exists(let object):
            isForeign = !object.isContent(upload.key, size: upload.plan.size, sha256: nil)
            examination.findings.append(.init(.ok, "the access keys may read objects"))
        case .missing:
            examination.findings.append(.init(.warning, "the object \(key) was written, and a HEAD does not find it"))
        case .hidden:
            examination.findings.append(
                .init(
                    .warning, "the access keys may not read objects; files of several parts can't be verified",
                    remedy: "Allow s3:GetObject and s3:ListBucket.", isAboutCredentials: true))
        }
        if isForeign {
            examination.findings.append(
                .init(.note, "the object \(key) is not this examination's, and stays"))
        } else {
            try await delete(&examination)
        }
        try await examineParts(&examination)
    }

    /// What looks wrong in the settings.
    private var settingFindings: [RemoteExamination.Finding] {
        let options = client.options
        var findings: [RemoteExamination.Finding] = []
        if let url = WebURL(options.endpoint),
            url.path.split(separator: "/").last.map(String.init) == options.bucket
                || url.authority.host.hasPrefix(options.bucket + ".")
        {
            findings.append(
                .init(
                    .warning, "remote.url contains the bucket \(options.bucket), which the agent adds itself",
                    remedy: "Take the bucket out of remote.url."))
        }
        if S3Options.isOdd(prefix: options.prefix) {
            findings.append(
                .init(
                    .warning,
                    "remote.prefix \"\(options.prefix)\" has an empty part, and many stores take no such keys",
                    remedy: "Set it to \"\(S3Options.usual(prefix: options.prefix))\"."))
        }
        return findings
    }

    private func delete(_ examination: inout RemoteExamination) async throws(RemoteFailure) {
        let delete = try await client.exchange(.init(operation: "DeleteObject", method: .delete, key: key))
        if delete.failure != nil, !delete.meansMissing {
            examination.findings.append(
                .init(.note, "the access keys may not delete objects, which the agent never does; \(key) stays"))
        }
    }

    /// Begins, lists and aborts an upload in parts.
    private func examineParts(_ examination: inout RemoteExamination) async throws(RemoteFailure) {
        let handle = try await remote.create(key, upload)
        do throws(RemoteFailure) {
            _ = try await remote.parts(
                of: RemoteUpload(key: upload.key, handle: handle, plan: upload.plan, type: upload.type))
        } catch {
            examination.findings.append(
                .init(
                    .warning,
                    "the access keys may not list the parts of an upload; after a restart the agent's own record counts",
                    remedy: "Allow s3:ListMultipartUploadParts.", isAboutCredentials: true))
        }
        await examinePart(&examination, of: handle)
        do throws(RemoteFailure) {
            try await remote.remove([handle])
        } catch {
            examination.findings.append(
                .init(
                    .warning, "the access keys may not abort uploads in parts; the parts of cancelled files stay",
                    remedy: "Allow s3:AbortMultipartUpload, or let the bucket expire incomplete uploads.",
                    isAboutCredentials: true))
        }
    }

    /// Sends a part of the usual size, which a proxy may refuse.
    private func examinePart(_ examination: inout RemoteExamination, of handle: RemoteHandle) async {
        let size = UInt64(remote.traits.fragmentSize)
        let sending = Task { () -> RemoteExamination.Finding? in
            var call = S3Client.Call(
                operation: "UploadPart", method: .put, key: handle.object,
                query: [("partNumber", "1"), ("uploadId", handle.id)])
            do throws(RemoteFailure) {
                try await remote.attach(ZeroBody(length: size), to: &call)
                try await client.exchange(call).accept()
                return nil
            } catch .cancelled {
                return .init(.note, "the link is too slow to try a whole part of \(size) bytes")
            } catch {
                return .init(error, credentials: "Correct the access keys; see docs/remotes.md.")
            }
        }
        let limit = Task {
            try? await Task.sleep(for: Self.longestPart)
            sending.cancel()
        }
        if let finding = await sending.value { examination.findings.append(finding) }
        limit.cancel()
    }

    private func put(_ examination: inout RemoteExamination) async throws(RemoteFailure) -> S3Client.Answer {
        var call = S3Client.Call(
            operation: "PutObject", method: .put, key: key, headers: remote.objectHeaders(upload))
        call.headers[.ifNoneMatch] = "*"
        try await remote.attach(BytesBody(Self.text), to: &call, known: BodyDigests(md5: upload.key))
        var answer = try await client.exchange(call)
        if answer.meansNotImplemented {
            call.headers[.ifNoneMatch] = nil
            try await remote.attach(BytesBody(Self.text), to: &call, known: BodyDigests(md5: upload.key))
            answer = try await client.exchange(call)
        }
        examination.date = answer.reply.headers.first(.date) ?? examination.date
        return answer
    }
}
