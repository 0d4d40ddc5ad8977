public import Digests
import HTTPTypes
import Synchronization
public import Transport
import URLs
public import UploadCore

/// An S3 store, see docs/remotes.md.
///
/// A content that fits into one part goes in one PutObject. Its handle has no upload id, and `register` only asks
/// whether the store already has the content. A larger content is a multipart upload, whose parts are the fragments.
///
/// No object is ever overwritten or deleted: keys are free when an upload begins, contents of one run never share a key,
/// and requests that create an object carry `If-None-Match: *`. Some stores ignore this condition, so that another
/// `HeadObject` precedes the completion of an upload, and a list (``ObjectList``) answers only for keys that name the
/// content.
public final class S3Remote: Remote {
    /// Maximum length of a key in bytes (AWS, "Naming Amazon S3 objects").
    private static let longestKey = 1024
    /// How many names are tried for a content.
    private static let mostNames = 100

    /// The protocol's traits: one upload a request, parts in any order.
    ///
    /// - Parameter partSize: the configured size; nil for 8 MiB.
    public static func traits(partSize: UInt32? = nil) -> RemoteTraits {
        RemoteTraits(
            batch: 1, asksAfterRestart: true, fragmentSize: partSize ?? 8 << 20, maximumFragments: 10_000)
    }

    /// See ``traits(partSize:)``.
    public let traits: RemoteTraits
    /// The bucket's address and the account.
    public let scope: RemoteScope
    /// The transport's thread.
    public var executor: (any TaskExecutor)? { client.transport.executor }

    /// MD5 and SHA-256 of parts, as far as the options want them.
    public let partDigests: PartDigestStore?

    let client: S3Client
    let digester = BodyDigester()
    let claims = KeyClaims()
    let objectList = Mutex(ObjectList())
    private let account: String
    private let now: @Sendable () -> ContinuousClock.Instant
    var options: S3Options { client.options }

    /// Creates a remote for one bucket and account.
    ///
    /// - Parameters:
    ///   - options: the bucket, and how to store objects in it.
    ///   - account: the owner of the uploads; part of the scope.
    ///   - transport: sends the requests.
    ///   - credentials: supplies the access keys of each request.
    ///   - clock: the time of signatures.
    ///   - now: the time by which lists of objects get old.
    public init(
        _ options: S3Options, account: String, transport: any HTTPTransport, credentials: any CredentialSource,
        clock: ServerClock = ServerClock(), now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        traits = Self.traits(partSize: options.partSize)
        client = S3Client(options, transport: transport, credentials: credentials, clock: clock)
        let wish = Self.digests(for: options.checksum, signed: Self.signsPayload(options, client))
        partDigests = PartDigestStore(traits, md5: wish.contains(.md5), sha256: wish.contains(.sha256))
        scope = RemoteScope(protocolName: "s3", server: client.address.base, account: account)
        self.account = account
        self.now = now
    }

    /// `HeadObject`, so that no content that the store has is sent, and `CreateMultipartUpload` for a content of several
    /// parts. Among many small contents, a list of the objects takes the place of most `HeadObject`s.
    public func register(_ uploads: [UploadDescription]) async -> [Result<Registration, RemoteFailure>] {
        await uploads.oneByOne { upload throws(RemoteFailure) in
            do throws(RemoteFailure) {
                return try await register(upload)
            } catch {
                claims.release(upload.key)
                throw error
            }
        }
    }

    private func register(_ upload: UploadDescription) async throws(RemoteFailure) -> Registration {
        let values = NameTemplate.Values(
            prefix: options.prefix, account: account, key: upload.key, type: upload.type, path: upload.path,
            modified: upload.modified)
        for copy in 1...Self.mostNames {
            let key = options.key.name(for: values, copy: copy)
            guard key.utf8.count <= Self.longestKey else {
                let message =
                    "the object's key would have \(key.utf8.count) bytes, and S3 allows \(Self.longestKey); shorten "
                    + "the file's path, or leave {path} out of remote.key"
                throw .permanent(FileError(code: "key_too_long", message: message, retryable: false))
            }
            // The content that claimed the key is not in the store yet, and may never be: the object may be this one.
            let claim = claims.claim(key, for: upload.key)
            if copy == 1, claim != .refused, upload.plan.count <= 1, await isSurelyMissing(key) {
                return .registered(RemoteHandle(id: "", object: key), .unasked)
            }
            switch try await client.look(key) {
            case .exists(let object):
                if await holds(object, upload.key, upload.plan, upload.sha256, isDoubted: upload.isDoubted) {
                    claims.release(upload.key)
                    partDigests?.remove(upload.key)
                    return .existing(finished(key), byMD5Alone: !object.has(upload.sha256))
                }
            case .missing, .hidden:
                if claim == .refused { continue }
                // If the store hides its objects, the request that creates this one finds out.
                let isSmall = upload.plan.count <= 1
                let handle = isSmall ? RemoteHandle(id: "", object: key) : try await create(key, upload)
                claims.created(handle.id, of: upload.key)
                return .registered(handle, .asRecorded)
            }
        }
        let message =
            "\(Self.mostNames) objects have the names that remote.key gives this content; add {key} to remote.key"
        throw .busyUpload(FileError(code: "name_taken", message: message, retryable: true))
    }

    /// Whether an object is a content. If the store joined as many parts as this run would send, their digests count.
    func holds(
        _ object: S3Object, _ key: ContentKey, _ plan: FragmentPlan, _ sha256: StrongDigest? = nil,
        isDoubted: Bool = false
    ) async -> Bool {
        var joined: ETag?
        if plan.count > 1, object.tag.partCount == plan.count {
            joined = await digester.perform { [partDigests] in
                let digests = (0..<plan.count).map { partDigests?.digests(of: key, plan, part: $0)?.md5 }
                return ETag(ofParts: digests.map { ETag($0?.hexadecimal ?? "") })
            }
        }
        return object.isContent(key, size: plan.size, sha256: sha256, joined: joined, isDoubted: isDoubted)
    }

    /// Whether the store lacks an object for certain; false if a HEAD must tell.
    private func isSurelyMissing(_ key: String) async -> Bool {
        guard options.key.namesContent, key.hasPrefix(options.prefix) else { return false }
        switch objectList.withLock({ $0.ask(for: key, at: now()) }) {
        case .missing: return true
        case .unknown: return false
        case .list(let span):
            do throws(RemoteFailure) {
                let keys = try await client.keys(under: options.prefix)
                objectList.withLock { $0.store(keys, of: span) }
            } catch {
                // The HEAD that follows fails as well, or the credentials may not list objects.
            }
            return false
        }
    }

    /// Begins an upload in parts.
    func create(_ key: String, _ upload: UploadDescription) async throws(RemoteFailure) -> RemoteHandle {
        var headers = objectHeaders(upload)
        switch options.checksum {
        case .crc64nvme: headers[S3Header.checksumAlgorithm] = "CRC64NVME"
        case .sha256: headers[S3Header.checksumAlgorithm] = "SHA256"
        case .md5, .none: break
        }
        let call = S3Client.Call(
            operation: "CreateMultipartUpload", method: .post, key: key, query: [("uploads", "")], headers: headers)
        let answer = try await client.exchange(call)
        guard let id = S3Messages.uploadID(in: try answer.document()) else {
            throw answer.judge.badReply("it has no UploadId")
        }
        return RemoteHandle(id: id, object: key)
    }

    /// Returns the header fields that the store keeps with an object.
    func objectHeaders(_ upload: UploadDescription) -> HTTPFields {
        var headers: HTTPFields = [.contentType: upload.type.mime, S3Header.metaMD5: upload.key.description]
        if let modified = upload.modified { headers[S3Header.metaModified] = ModificationTime.text(modified) }
        // All metadata of an object may have 2 KiB.
        let path = S3Address.encodedPath(upload.path.bytes)
        if path.utf8.count <= 1500 { headers[S3Header.metaPath] = path }
        if let sha256 = upload.sha256 { headers[S3Header.metaSHA256] = sha256.description }
        return headers.merging(storageHeaders)
    }

    /// The header fields that the configuration adds to objects.
    var storageHeaders: HTTPFields {
        var headers: HTTPFields = [:]
        headers[S3Header.storageClass] = options.storageClass
        headers[S3Header.encryption] = options.serverSideEncryption
        headers[S3Header.encryptionKey] = options.encryptionKeyID
        headers[S3Header.acl] = options.acl
        return headers
    }

    /// Returns the names of a finished object.
    func finished(_ key: String) -> RemoteObject {
        let url = client.address.url(of: key)
        return RemoteObject(id: key, url: WebURL.isAnswer(url) ? url : nil)
    }

    /// `AbortMultipartUpload`. A handle without id or object is that of a finished object or of a PutObject, and the agent
    /// deletes no objects: other files, and other agents, may rely on them.
    ///
    /// - Throws: `.busyUpload` if the credentials may not abort uploads. They may still send files.
    public func remove(_ handles: [RemoteHandle]) async throws(RemoteFailure) {
        for handle in handles {
            guard let key = handle.object else { continue }
            if let content = claims.release(key: key, upload: handle.id) { partDigests?.remove(content) }
            if handle.id.isEmpty { continue }
            let call = S3Client.Call(
                operation: "AbortMultipartUpload", method: .delete, key: key, query: [("uploadId", handle.id)])
            let answer = try await client.exchange(call)
            if let failure = answer.failure, !answer.meansMissing { throw failure.ofOneUpload }
        }
    }
}

extension HTTPFields {
    fileprivate func merging(_ others: HTTPFields) -> HTTPFields {
        var all = self
        for field in others { all.append(field) }
        return all
    }
}
