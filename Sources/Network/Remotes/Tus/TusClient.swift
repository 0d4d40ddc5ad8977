import FoundationEssentials
import HTTPTypes
import Synchronization
import Transport
import URLs
import UploadCore

/// The requests of the tus protocol, and what their replies mean.
struct TusClient: Sendable {
    /// The end of a PATCH.
    enum PatchOutcome {
        case acknowledged
        /// The server refuses a body of this size. The failure applies if no smaller body is possible.
        case tooLarge(RemoteFailure)
    }

    /// Time limits of requests without a body. A server may keep a HEAD waiting behind a stalled PATCH of the same upload.
    private static let timeouts = TransportRequest.Timeouts(
        connect: .seconds(30), stall: .seconds(30), reply: .seconds(60))

    /// How many refusals in a row end an upload, see ``TusJudge/refusesUpload(_:)``.
    private static let mostRefusals = 3

    let address: TusAddress
    let transport: any HTTPTransport
    private let authorizer: any Authorizer
    private let account: String
    private let name: NameTemplate
    private let origin: WebOrigin?
    private let refusals = Refusals()

    /// The number of refusals in a row, by the URL of the upload.
    private final class Refusals: Sendable {
        let counts = Mutex<[String: Int]>([:])
    }

    /// - Parameters:
    ///   - url: the URL that creates uploads, as configured.
    ///   - account: for the template of names.
    ///   - name: the template of `filename`.
    init(
        url: String, account: String = "", name: NameTemplate = .fileName, transport: any HTTPTransport,
        authorizer: any Authorizer
    ) {
        self.account = account
        self.name = name
        address = TusAddress(url)
        self.transport = transport
        self.authorizer = authorizer
        origin = WebOrigin(address.url)
    }

    // MARK: Requests

    /// `OPTIONS`: what the server offers. A server that does not answer this is assumed to offer what every server must.
    func discover() async -> Result<TusOffer, RemoteFailure> {
        do throws(RemoteFailure) {
            var judge = TusJudge(method: "OPTIONS", subject: .creation)
            let reply: HTTPReply
            switch try await answer(
                to: TransportRequest(method: .options, url: address.url, timeouts: Self.timeouts), &judge)
            {
            case .success(let answer): reply = answer
            case .failure(.replyTimeout): return .success(.unanswered)
            case .failure(let error): throw judge.failure(error)
            }
            guard (200...299).contains(reply.status), let offer = TusOffer(reply.headers) else {
                let knowsNoOptions = (200...299).contains(reply.status) || [404, 405, 501].contains(reply.status)
                return .success(knowsNoOptions ? .unknown : .unanswered)
            }
            if !offer.speaksOurVersion { throw judge.wrongVersion(reply) }
            return .success(offer)
        } catch {
            return .failure(error)
        }
    }

    /// `POST`: creates an upload.
    ///
    /// - Returns: the URL of the upload.
    func create(_ upload: UploadDescription) async throws(RemoteFailure) -> String {
        var judge = TusJudge(method: "POST", subject: .creation)
        return try place(in: try await exchange(creation(of: upload, judge), &judge), of: upload, judge)
    }

    /// The end of a POST with a body.
    enum CreationOutcome {
        /// The server created the upload, and has so many bytes of it; nil if it does not say.
        case created(String, offset: UInt64?)
        /// The server refuses the upload, perhaps only because of the body.
        case refused
    }

    /// `POST` with the whole content (extension `creation-with-upload`).
    func create(
        _ upload: UploadDescription, with fragment: OutgoingFragment
    ) async throws(RemoteFailure) -> CreationOutcome {
        var judge = TusJudge(method: "POST", subject: .creation)
        var request = creation(of: upload, judge)
        request.headers[.contentType] = "application/offset+octet-stream"
        request.body = .stream(CheckedBody(fragment.body))
        request.onProgress = fragment.onProgress
        let reply = try await exchange(request, &judge)
        if reply.status == 413 { return .refused }
        do throws(RemoteFailure) {
            try judge.accept(reply)
        } catch .permanent {
            return .refused
        }
        return .created(try place(in: reply, of: upload, judge), offset: reply.number("Upload-Offset"))
    }

    private func creation(of upload: UploadDescription, _ judge: TusJudge) -> TransportRequest {
        var request = TransportRequest(method: .post, url: address.creationURL(for: upload))
        judge.add("Upload-Length", "\(upload.plan.size)", to: &request)
        let values = NameTemplate.Values(
            prefix: "", account: account, key: upload.key, type: upload.type, path: upload.path,
            modified: upload.modified)
        judge.add("Upload-Metadata", TusMetadata.text(for: upload, name: name.name(for: values)), to: &request)
        return request
    }

    /// Returns the URL of an upload that a reply says was created.
    private func place(
        in reply: HTTPReply, of upload: UploadDescription, _ judge: TusJudge
    ) throws(RemoteFailure) -> String {
        let url = address.creationURL(for: upload)
        try judge.accept(reply)
        guard let location = reply.headers.first(.location) else { throw judge.badReply(reply, "it has no Location") }
        guard let place = WebURL.resolving(location, against: url) else {
            throw judge.badReply(reply, "its Location is no URL")
        }
        // The upload's requests carry credentials, and the file is for this server only.
        guard WebOrigin(place) == origin else { throw judge.foreignPlace(place) }
        return place
    }

    /// `HEAD`: how many bytes of an upload the server has.
    func offset(of upload: RemoteUpload) async throws(RemoteFailure) -> UInt64 {
        var judge = TusJudge(method: "HEAD", subject: .upload)
        let request = TransportRequest(method: .head, url: upload.handle.id, timeouts: Self.timeouts)
        let reply: HTTPReply
        switch try await answer(to: request, &judge) {
        case .success(let answer): reply = answer
        case .failure(.replyTimeout(let message)):
            // The server may be busy with an earlier PATCH of this upload.
            throw .temporary(
                FileError(code: "reply_timeout", message: "HEAD: \(message)", retryable: true), outlook: .silent)
        case .failure(let error): throw judge.failure(error)
        }
        try await accept(reply, judge, of: upload.handle.id)
        if let length = reply.number("Upload-Length"), length != upload.plan.size { throw .forgotten }
        if let offset = reply.number("Upload-Offset") {
            if offset > upload.plan.size { throw .forgotten }
            return offset
        }
        // Some servers answer for a finished upload without an offset. The answer of any other web server proves nothing.
        guard reply.status == 204, reply.isFromTus else { throw judge.badReply(reply, "it has no Upload-Offset") }
        return upload.plan.size
    }

    /// `PATCH`: sends a part of a fragment.
    ///
    /// - Parameter part: the offsets of the part within the fragment.
    func patch(
        _ fragment: OutgoingFragment, _ part: Range<UInt64>, checksum: TusChecksum?
    ) async throws(RemoteFailure) -> PatchOutcome {
        var judge = TusJudge(method: "PATCH", subject: .upload)
        let base = fragment.upload.plan.range(of: fragment.index).lowerBound
        var request = TransportRequest(
            method: .patch, url: fragment.upload.handle.id, headers: [.contentType: "application/offset+octet-stream"],
            body: .stream(CheckedBody(fragment.body.part(from: part.lowerBound, to: part.upperBound))))
        judge.add("Upload-Offset", "\(base + part.lowerBound)", to: &request)
        if let checksum { judge.add("Upload-Checksum", checksum.text, to: &request) }
        if let onProgress = fragment.onProgress {
            let before = part.lowerBound - min(UInt64(fragment.skip), part.lowerBound)
            request.onProgress = { onProgress(before + $0) }
        }
        let reply = try await exchange(request, &judge)
        if reply.status == 413 { return .tooLarge(judge.failure(of: reply)) }
        try await accept(reply, judge, of: fragment.upload.handle.id)
        let expected = base + part.upperBound
        switch reply.number("Upload-Offset") {
        case expected: return .acknowledged
        case let offset?: throw judge.outOfStep("the server has \(offset) bytes after byte \(expected) was sent")
        case nil where WebPage.isBody(of: reply): throw judge.badReply(reply, "it has no Upload-Offset")
        case nil: throw judge.outOfStep("the reply has no Upload-Offset")
        }
    }

    /// `DELETE`: removes an upload. A server that refuses to delete lets the upload expire.
    func terminate(_ place: String) async throws(RemoteFailure) {
        var judge = TusJudge(method: "DELETE", subject: .upload)
        let reply = try await exchange(
            TransportRequest(method: .delete, url: place, timeouts: Self.timeouts), &judge)
        // The server knows the account, and does not let it delete.
        if reply.status == 403, reply.isFromTus { return }
        do {
            try checkRefusals(reply, judge, of: place)
            try judge.accept(reply)
        } catch RemoteFailure.forgotten {}
    }

    /// Counts the refusals of an upload in a row.
    ///
    /// - Throws: `.forgotten` after the last one: the upload starts over.
    private func checkRefusals(_ reply: HTTPReply, _ judge: TusJudge, of place: String) throws(RemoteFailure) {
        let isLast = refusals.counts.withLock { counts in
            counts[place] = judge.refusesUpload(reply) ? counts[place, default: 0] + 1 : nil
            guard counts[place] == Self.mostRefusals else { return false }
            counts[place] = nil
            return true
        }
        if isLast { throw .forgotten }
    }

    // MARK: Unknown uploads

    /// Checks that a reply about an upload reports success. A proxy whose server is away may answer 404 as well: without
    /// the header field of tus, the upload counts as forgotten only if the server answers at the creation URL.
    private func accept(_ reply: HTTPReply, _ judge: TusJudge, of place: String) async throws(RemoteFailure) {
        try checkRefusals(reply, judge, of: place)
        do throws(RemoteFailure) {
            try judge.accept(reply)
        } catch {
            if error == .forgotten, !reply.isFromTus, try await !isAtCreationURL() { throw judge.foreign(reply) }
            throw error
        }
    }

    /// Whether the server may be what answers at the creation URL. Not every server knows OPTIONS.
    private func isAtCreationURL() async throws(RemoteFailure) -> Bool {
        var judge = TusJudge(method: "OPTIONS", subject: .creation)
        let reply = try await exchange(
            TransportRequest(method: .options, url: address.url, timeouts: Self.timeouts), &judge)
        if reply.isFromTus || TusOffer(reply.headers) != nil { return true }
        return ![404, 410, 502, 503, 504].contains(reply.status) && !WebPage.isBody(of: reply)
    }

    // MARK: Sending

    private func exchange(
        _ request: TransportRequest, _ judge: inout TusJudge
    ) async throws(RemoteFailure) -> HTTPReply {
        switch try await answer(to: request, &judge) {
        case .success(let reply): return reply
        case .failure(let error): throw judge.failure(error)
        }
    }

    /// - Parameter judge: learns the token sent, to hide it in texts of the reply.
    private func answer(
        to request: TransportRequest, _ judge: inout TusJudge
    ) async throws(RemoteFailure) -> Result<HTTPReply, TransportError> {
        var request = request
        // A server ignores the field in OPTIONS, and clients should not send it there.
        if request.method != .options { judge.add("Tus-Resumable", TusRemote.version, to: &request) }
        judge.length = request.body.contentLength
        judge.mask = try await authorizer.authorize(&request, payload: nil)
        do {
            return .success(try await transport.send(request))
        } catch {
            return .failure(error)
        }
    }
}

/// The header field `Upload-Metadata`: pairs of a key and a value in base64.
///
/// Servers expect UTF-8: some refuse an upload with other bytes, some drop the pair. So `filename` and `path` of a name that
/// is not UTF-8 are written as in sidecars, with the odd bytes percent-encoded. `path_bytes` then has the bytes in base64.
enum TusMetadata {
    /// How many bytes of the field every server takes. Some refuse an upload with more.
    private static let longest = 4096

    /// Leaves out the path if the field would be too long.
    ///
    /// - Parameter name: for `filename`.
    static func text(for upload: UploadDescription, name: String) -> String {
        var pairs: [(key: String, value: [UInt8])] = [
            ("filename", Array(name.utf8)),
            ("filetype", Array(upload.type.mime.utf8)),
            ("md5", Array(upload.key.description.utf8)),
        ]
        if let modified = upload.modified { pairs.append(("mtime", Array(ModificationTime.text(modified).utf8))) }
        let path = upload.path.description
        pairs.append(("path", Array(path.utf8)))
        if !path.utf8.elementsEqual(upload.path.bytes) {
            pairs.append(("path_bytes", Array(Data(upload.path.bytes).base64EncodedString().utf8)))
        }
        let text = text(of: pairs)
        return text.utf8.count <= longest ? text : Self.text(of: pairs.filter { !$0.key.hasPrefix("path") })
    }

    private static func text(of pairs: [(key: String, value: [UInt8])]) -> String {
        pairs.map { "\($0.key) \(Data($0.value).base64EncodedString())" }.joined(separator: ",")
    }
}
