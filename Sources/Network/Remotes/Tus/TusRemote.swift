import HTTPTypes
import Synchronization
public import Transport
import URLs
public import UploadCore

/// The resumable upload protocol tus 1.0 (https://tus.io/protocols/resumable-upload).
///
/// `register` creates an upload (POST), `resume` asks for its offset (HEAD), `send` streams a fragment into it (PATCH). The
/// handle's id is the URL of the upload. The remote keeps two facts in memory: what the server offers, and the largest
/// PATCH that the server takes. A server that refuses a PATCH as too large (413) gets smaller ones, so one `send` may need
/// several.
///
/// By default, creation carries no bytes of the file (extension `creation-with-upload`): if its reply were lost, the agent
/// could not find the upload again, and the server would get a second copy of a small file. With `createsWithUpload`, the
/// handle of a small content has no id, and `send` creates the upload. If this fails, the content is registered like others.
public final class TusRemote: Remote {
    /// The version of the protocol.
    static let version = "1.0.0"
    /// The largest body of one PATCH without a limit of the configuration.
    static let largestPatch: UInt64 = 2 << 30
    /// The receipt of the last fragment: the server stated the full length as its offset. Some servers know a finished
    /// upload no more, so `finish` must not ask them.
    static let completeReceipt = "complete"
    /// The largest content in bytes that the request that creates its upload may carry. One block, so that the whole content
    /// is checked before its first byte leaves.
    static let largestCreation = UInt64(ContentSeal.blockSize)

    /// See ``traits(maximumPatch:)``.
    public let traits: RemoteTraits
    /// The URL that creates uploads, and the account.
    public let scope: RemoteScope
    /// The transport's thread.
    public var executor: (any TaskExecutor)? { client.transport.executor }

    private let client: TusClient
    /// The largest PATCH that the server takes; nil for no limit.
    private let maximumPatch: Mutex<UInt64?>
    private let discovery = Mutex<Discovery?>(nil)
    private let creation: Mutex<Creation>

    /// Whether requests that create uploads carry small contents.
    private struct Creation {
        /// The configuration wants it, and the server took each such body.
        var isAllowed: Bool
        /// The contents whose creation was interrupted. The server may have a copy.
        var interrupted: Set<ContentKey> = []
    }

    private typealias Discovery = Task<Result<TusOffer, RemoteFailure>, Never>

    /// Creates a remote for one server and account.
    ///
    /// - Parameters:
    ///   - url: the URL that creates uploads, as configured.
    ///   - account: the owner of the uploads; part of the scope.
    ///   - name: the template of the names that uploads have.
    ///   - maximumPatch: the largest body of one PATCH in bytes; nil for no limit.
    ///   - createsWithUpload: whether requests that create uploads may carry small contents, if the server offers it.
    ///   - transport: sends the requests.
    ///   - authorizer: adds the token to each request.
    public init(
        url: String, account: String, name: NameTemplate = .fileName, maximumPatch: UInt64? = nil,
        createsWithUpload: Bool = false, transport: any HTTPTransport, authorizer: any Authorizer
    ) {
        traits = Self.traits(maximumPatch: maximumPatch)
        scope = RemoteScope(protocolName: "tus", server: url, account: account)
        client = TusClient(url: url, account: account, name: name, transport: transport, authorizer: authorizer)
        self.maximumPatch = Mutex(maximumPatch)
        creation = Mutex(Creation(isAllowed: createsWithUpload))
    }

    /// Returns the protocol's traits: one upload a request, fragments in order, each as large as one PATCH may be.
    ///
    /// - Parameter maximumPatch: the largest body of one PATCH in bytes; nil for no limit.
    public static func traits(maximumPatch: UInt64?) -> RemoteTraits {
        let most = min(maximumPatch ?? largestPatch, largestPatch)
        let block = UInt64(ContentSeal.blockSize)
        let size = max(most / block, 1) * block
        return RemoteTraits(batch: 1, inOrder: true, asksBeforeResuming: true, fragmentSize: UInt32(size))
    }

    // MARK: Calls

    /// `POST` to the configured URL for each upload, except for those that `send` creates.
    public func register(_ uploads: [UploadDescription]) async -> [Result<Registration, RemoteFailure>] {
        await uploads.oneByOne { upload throws(RemoteFailure) in try await register(upload) }
    }

    /// `HEAD`. No request if the server already stated the full length, or for an upload that `send` creates.
    public func resume(_ upload: RemoteUpload) async throws(RemoteFailure) -> ResumePoint {
        if upload.isStatedComplete { return .unasked }
        if upload.handle.id.isEmpty {
            creation.withLock { _ = $0.interrupted.insert(upload.key) }
            return .unasked
        }
        return .offset(try await client.offset(of: upload))
    }

    /// `PATCH`; several if the server takes no larger ones. `POST` for a handle without id.
    public func send(_ fragment: OutgoingFragment) async throws(RemoteFailure) -> String? {
        fragment.upload.handle.id.isEmpty ? try await create(with: fragment) : try await patch(fragment)
    }

    private func patch(_ fragment: OutgoingFragment) async throws(RemoteFailure) -> String? {
        let range = fragment.upload.plan.range(of: fragment.index)
        let length = UInt64(range.count)
        var start = UInt64(fragment.skip)
        var smaller: UInt64?
        while start < length {
            let limits = [maximumPatch.withLock { $0 }, fragment.longestRequest, smaller]
            let end = Self.endOfPatch(from: start, of: length, atMost: limits.compactMap(\.self).min())
            let reply = try await client.patch(fragment, start..<end, checksum: checksum(of: fragment, start..<end))
            switch reply {
            case .acknowledged:
                start = end
                lowerMaximum(to: smaller)
            case .tooLarge(let failure): smaller = try Self.less(than: end - start, failure)
            }
        }
        return range.upperBound == fragment.upload.plan.size ? Self.completeReceipt : nil
    }

    /// `HEAD` for an upload whose last acknowledgement was lost, or that an earlier run sent. Otherwise no request.
    public func finish(_ uploads: [RemoteUpload]) async -> [Result<FinishOutcome, RemoteFailure>] {
        await uploads.oneByOne { upload throws(RemoteFailure) in
            if !upload.isStatedComplete { try await checkIsComplete(upload) }
            let place = upload.handle.id.isEmpty ? upload.createdPlace : upload.handle.id
            return .confirmed(RemoteObject(id: place, url: nil))
        }
    }

    /// `DELETE` for each upload, unless the server does not offer the extension `termination`.
    public func remove(_ handles: [RemoteHandle]) async throws(RemoteFailure) {
        if case .success(let offer) = await discovery.withLock({ $0 })?.value, !offer.terminates { return }
        for handle in handles where !handle.id.isEmpty { try await client.terminate(handle.id) }
    }

    // MARK: Parts

    private func register(_ upload: UploadDescription) async throws(RemoteFailure) -> Registration {
        let isFirst = discovery.withLock { $0 == nil }
        var offer = try await offer()
        if !isFirst, offer.maximumSize.map({ $0 < upload.plan.size }) == true {
            // Somebody may have raised the limit since.
            discovery.withLock { $0 = nil }
            offer = try await self.offer()
        }
        if let most = offer.maximumSize, upload.plan.size > most {
            let message =
                "the server takes files of at most \(most) bytes (Tus-Max-Size), and this file has \(upload.plan.size); "
                + "raise the limit of the server, then run `outbox retry`"
            throw .permanent(FileError(code: "refused", message: message, retryable: false))
        }
        let isSmall = (1...Self.largestCreation).contains(upload.plan.size) && upload.plan.count == 1
        let mayWait = creation.withLock { $0.isAllowed && !$0.interrupted.contains(upload.key) }
        if isSmall, offer.createsWithUpload, mayWait {
            return .registered(RemoteHandle(id: ""), isFirst ? .asRecorded : .unasked)
        }
        let place = try await client.create(upload)
        creation.withLock { _ = $0.interrupted.remove(upload.key) }
        return .registered(RemoteHandle(id: place), .asRecorded)
    }

    /// Creates an upload with its content, and sends what the server did not take.
    ///
    /// - Returns: a receipt with the URL of the upload.
    private func create(with fragment: OutgoingFragment) async throws(RemoteFailure) -> String? {
        guard let details = fragment.upload.details else { throw .forgotten }
        var upload = fragment.upload
        var offset: UInt64? = 0
        switch try await client.create(details, with: fragment) {
        case .created(let place, let stated):
            upload.handle.id = place
            offset = stated
            // The question for the offset costs the request that the body saved.
            if stated == nil { creation.withLock { $0.isAllowed = false } }
        case .refused:
            // A refusal of both requests is about the file, not about the body.
            upload.handle.id = try await client.create(details)
            creation.withLock { $0.isAllowed = false }
        }
        let start = if let offset { offset } else { try await client.offset(of: upload) }
        if start > upload.plan.size { throw .forgotten }
        if start < upload.plan.size {
            var rest = OutgoingFragment(
                upload: upload, index: fragment.index, skip: UInt32(start), body: fragment.body,
                onProgress: fragment.onProgress)
            rest.longestRequest = fragment.longestRequest
            _ = try await patch(rest)
        }
        return "\(Self.completeReceipt) \(upload.handle.id)"
    }

    private func checkIsComplete(_ upload: RemoteUpload) async throws(RemoteFailure) {
        let offset = try await client.offset(of: upload)
        guard offset < upload.plan.size else { return }
        let message = "HEAD: the server has \(offset) of \(upload.plan.size) bytes of an upload that it acknowledged"
        throw .outOfStep(FileError(code: "out_of_step", message: message, retryable: true))
    }

    /// Asks the server what it offers, once if it answers. All creations wait for the answer.
    private func offer() async throws(RemoteFailure) -> TusOffer {
        let asking = discovery.withLock { discovery in
            if let discovery { return discovery }
            let new = Discovery(executorPreference: executor) { [client] in await client.discover() }
            discovery = new
            return new
        }
        switch await asking.value {
        case .success(let offer):
            if !offer.isLasting { forget(asking) }
            return offer
        case .failure(let failure):
            forget(asking)
            throw failure
        }
    }

    private func forget(_ asking: Discovery) {
        discovery.withLock { if $0 == asking { $0 = nil } }
    }

    /// Returns the checksum of a part of a fragment, if the server takes one of this kind and the part is either the
    /// whole of a small content, whose MD5 is known, or small enough to be read twice.
    private func checksum(of fragment: OutgoingFragment, _ part: Range<UInt64>) async -> TusChecksum? {
        guard case .success(let offer) = await discovery.withLock({ $0 })?.value else { return nil }
        let upload = fragment.upload
        guard part.count <= TusChecksum.longestBody else { return nil }
        if upload.plan.size == UInt64(part.count), offer.checksums.contains(TusChecksum.md5) {
            return .md5(of: upload.key)
        }
        guard part.count <= Int(ContentSeal.blockSize), offer.checksums.contains(TusChecksum.sha1) else { return nil }
        return .sha1(of: fragment.body.part(from: part.lowerBound, to: part.upperBound))
    }

    // MARK: Limits of a PATCH

    /// Returns the end of the next PATCH within a fragment. Each ends with a block, so that its last bytes are checked.
    private static func endOfPatch(from start: UInt64, of length: UInt64, atMost most: UInt64?) -> UInt64 {
        guard let most else { return length }
        let block = UInt64(ContentSeal.blockSize)
        let end = (start + most) / block * block
        return min(length, end > start ? end : (start / block + 1) * block)
    }

    /// Returns half of a refused length.
    ///
    /// - Throws: `failure` if the refused body can't be smaller.
    private static func less(than refused: UInt64, _ failure: RemoteFailure) throws(RemoteFailure) -> UInt64 {
        let block = UInt64(ContentSeal.blockSize)
        guard refused > block else { throw failure }
        return max(refused / 2, block)
    }

    /// Lowers the limit for all uploads after the server took a body within the new limit. Without this proof the refusal
    /// may concern the upload alone: a quota, or a body beyond its end.
    private func lowerMaximum(to limit: UInt64?) {
        guard let limit else { return }
        maximumPatch.withLock { $0 = min($0 ?? limit, limit) }
    }
}

extension RemoteUpload {
    /// Whether the server stated the full length of the content as its offset.
    fileprivate var isStatedComplete: Bool {
        receipts[plan.count - 1] == TusRemote.completeReceipt || createdPlace != nil
    }

    /// The URL of an upload that was created with its content; nil for another one.
    fileprivate var createdPlace: String? {
        let words = receipts[plan.count - 1]?.split(separator: " ", maxSplits: 1)
        guard let words, words.count == 2, words[0] == TusRemote.completeReceipt else { return nil }
        return String(words[1])
    }
}
