import CCurl
import Glibc
import HTTPTypes

/// One request while libcurl works on it; touched by the transport's thread alone.
final class Transfer {
    /// Most bytes of a reply's header that are taken.
    private static let maximumHeaderLength = 64 << 10

    let submission: Submission
    let easy: UnsafeMutableRawPointer
    let timeouts: TransportRequest.Timeouts
    let body: (any BodySource)?
    /// Content-Type that goes with the body, where the transport chose it.
    let bodyContentType: String?
    /// Where libcurl writes what went wrong; it must outlive the transfer.
    let errorBuffer = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    /// Header fields in libcurl's form, freed here because libcurl does not.
    var headerList: UnsafeMutablePointer<curl_slist>?

    /// Bytes the bandwidth limit lets it send at once; kept by the throttle.
    var allowance: UInt64 = 0
    /// Whether it is paused by the bandwidth limit; kept by the throttle.
    var isThrottled = false

    private let throttle: Throttle
    private let sockets: SocketRegistry
    private var watch: ProgressWatch
    /// Bytes of the body that the request's owner was told of as acknowledged.
    private var reported: UInt64 = 0
    private var delivered: UInt64 = 0
    private var bodyError: (any Error)?
    private var fields = HTTPFields()
    private var headerLength = 0
    private var replyBody: [UInt8] = []
    private var replyLength = 0
    private var isReplyTooLong = false
    private var sinkError: (any Error)?
    /// Whether the sink takes the body; nil until the header is complete.
    private var isTakenBySink: Bool?
    private var peers = PeerLog()
    private var wasSentAgain = false

    init(
        submission: Submission, easy: UnsafeMutableRawPointer, throttle: Throttle, sockets: SocketRegistry,
        timeouts: TransportRequest.Timeouts
    ) {
        self.submission = submission
        self.easy = easy
        self.throttle = throttle
        self.sockets = sockets
        self.timeouts = timeouts
        watch = ProgressWatch(stall: timeouts.stall, reply: timeouts.reply)
        errorBuffer.initialize(repeating: 0)
        switch submission.request.body {
        case .none: (body, bodyContentType) = (nil, nil)
        case .bytes(let bytes): (body, bodyContentType) = (BytesBody(bytes), nil)
        case .stream(let source): (body, bodyContentType) = (source, nil)
        case .multipart(let parts):
            let multipart = MultipartBody(parts)
            (body, bodyContentType) = (multipart, multipart.contentType)
        }
    }

    deinit {
        curl_slist_free_all(headerList)
        errorBuffer.deallocate()
    }

    /// Length of the body; 0 where there is none.
    var length: UInt64 { body?.length ?? 0 }

    /// A socket was opened for its connection.
    func opened(_ descriptor: Int32) {
        sockets.opened(descriptor)
        outbox_set_user_timeout(descriptor, UInt32(clamping: max(timeouts.stall.nanoseconds / 1_000_000, 1)))
    }

    // MARK: Sending

    /// Copies the next bytes of the body.
    ///
    /// - Returns: their number, or CURL_READFUNC_PAUSE or CURL_READFUNC_ABORT. Never 0 before the promised end: libcurl
    ///   would wait for the rest for ever.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let body else { return 0 }
        let wanted = Int(min(UInt64(buffer.count), body.length - min(delivered, body.length)))
        if wanted == 0 { return 0 }
        let allowed = throttle.admit(self, wanted: wanted)
        if allowed == 0 { return Int(CURL_READFUNC_PAUSE) }
        do {
            let count = try body.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<allowed]))
            if count == 0 { throw BodyTooShort(promised: body.length, delivered: delivered) }
            delivered += UInt64(count)
            allowance -= min(allowance, UInt64(count))
            return count
        } catch {
            bodyError = error
            return Int(CURL_READFUNC_ABORT)
        }
    }

    /// Goes back to the start, of the body and of the reply.
    ///
    /// - Returns: whether the body can be sent again.
    func rewind() -> Bool {
        do {
            try body?.rewind()
        } catch {
            bodyError = error
            return false
        }
        delivered = 0
        fields = HTTPFields()
        headerLength = 0
        replyBody = []
        replyLength = 0
        peers = PeerLog()
        return true
    }

    /// Whether a re-used connection turned out dead before a byte of reply came, for the first time.
    func mayBeSentAgain(after code: CURLcode) -> Bool {
        guard code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING, !wasSentAgain,
            headerLength == 0, outbox_curl_long_info(easy, CURLINFO_NUM_CONNECTS) == 0
        else { return false }
        wasSentAgain = true
        return true
    }

    // MARK: Receiving

    /// Takes one line of the reply's header.
    ///
    /// - Returns: whether to go on.
    func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        headerLength += line.count
        guard headerLength <= Self.maximumHeaderLength else {
            isReplyTooLong = true
            return false
        }
        if line.starts(with: "HTTP/".utf8) {
            // The header so far was that of an interim reply, or of a proxy.
            fields = HTTPFields()
        } else if let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
        {
            // Takes the white space around the value away, and the end of the line with it.
            fields.append(HTTPField(name: name, value: line[(colon + 1)...]))
        }
        return true
    }

    /// Takes bytes of the reply's body.
    ///
    /// - Returns: whether to go on.
    func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= submission.request.maximumReplyLength - replyLength else {
            isReplyTooLong = true
            return false
        }
        replyLength += bytes.count
        guard let sink = submission.request.sink else {
            replyBody.append(contentsOf: bytes)
            return true
        }
        return hand(bytes, to: sink)
    }

    private func hand(_ bytes: UnsafeRawBufferPointer, to sink: any ReplySink) -> Bool {
        let isTaken = isTakenBySink ?? sink.takesBody(of: replyWithoutBody)
        isTakenBySink = isTaken
        guard isTaken else { return true }
        do {
            try sink.write(bytes)
            return true
        } catch {
            sinkError = error
            return false
        }
    }

    private var replyWithoutBody: HTTPReply {
        HTTPReply(status: outbox_curl_long_info(easy, CURLINFO_RESPONSE_CODE), headers: fields)
    }

    // MARK: The other end

    /// - Returns: whether a request may go to an address, as inet_ntop(3) writes it.
    func mayConnect(to address: String) -> Bool {
        guard let mayConnect = submission.request.mayConnect else { return true }
        return peers.note(address, isAllowed: mayConnect(address))
    }

    // MARK: Judging

    /// This end of its connection; nil before there is one.
    var localEndpoint: SocketRegistry.Endpoint? {
        guard let address = outbox_curl_string_info(easy, CURLINFO_LOCAL_IP).map({ String(cString: $0) }),
            !address.isEmpty
        else { return nil }
        return SocketRegistry.Endpoint(address: address, port: outbox_curl_long_info(easy, CURLINFO_LOCAL_PORT))
    }

    /// For how long the other end has had the whole request and did not begin to reply; nil where it has not, or did.
    func silence(at now: UInt64) -> Duration? {
        headerLength == 0 ? watch.silence(at: now) : nil
    }

    /// - Parameter unacknowledged: bytes the kernel still holds.
    /// - Returns: why to give up; nil where it goes on.
    func checkProgress(at now: UInt64, unacknowledged: Int) -> TransportError? {
        let written = Int64(outbox_curl_offset_info(easy, CURLINFO_SIZE_UPLOAD_T))
        report(acknowledged: UInt64(max(0, written - Int64(unacknowledged))))
        let seen = ProgressWatch.Observation(
            connected: outbox_curl_offset_info(easy, CURLINFO_PRETRANSFER_TIME_T) > 0,
            written: written,
            unacknowledged: unacknowledged,
            complete: written >= 0 && UInt64(written) >= length,
            throttled: isThrottled)
        switch watch.observe(seen, at: now) {
        case .fine: return nil
        case .stalled: return .stalled("no byte moved for \(timeouts.stall) while sending")
        case .replyOverdue: return .replyTimeout("no complete reply within \(timeouts.reply)")
        }
    }

    /// The kernel takes a whole fragment at once, and a slow link is busy with it for a minute: bytes count once the other
    /// end has acknowledged them.
    private func report(acknowledged: UInt64) {
        guard let onProgress = submission.request.onProgress, acknowledged != reported else { return }
        reported = acknowledged
        onProgress(min(acknowledged, length))
    }

    /// What the caller gets for a transfer that libcurl says is over.
    func outcome(of code: CURLcode) -> Result<HTTPReply, TransportError> {
        if let bodyError { return .failure(.body(bodyError)) }
        if let sinkError { return .failure(.sink(sinkError)) }
        if code != CURLE_OK, let refused = peers.refused {
            return .failure(.refusedAddress("connections to \(refused) are not allowed"))
        }
        if isReplyTooLong { return .failure(.replyTooLong("the reply is longer than allowed")) }
        if code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR,
            outbox_curl_long_info(easy, CURLINFO_OS_ERRNO) == Int(ETIMEDOUT)
        {
            return .failure(.stalled("the server accepted no byte for too long"))
        }
        let tunnel = outbox_curl_long_info(easy, CURLINFO_HTTP_CONNECTCODE)
        if code != CURLE_OK, tunnel >= 300 { return .failure(.connect(Self.refusedTunnel(tunnel))) }
        guard code == CURLE_OK else { return .failure(failure(code)) }
        var reply = replyWithoutBody
        reply.body = replyBody
        return .success(reply)
    }

    private func failure(_ code: CURLcode) -> TransportError {
        let error = TransportError(code, detail: errorBuffer.baseAddress.map { String(cString: $0) } ?? "")
        guard case .tls(let message) = error else { return error }
        let advice = CertificateAdvice.text(
            verifyResult: outbox_curl_long_info(easy, CURLINFO_SSL_VERIFYRESULT),
            isAboutPeer: code == CURLE_PEER_FAILED_VERIFICATION)
        return .tls(advice.map { "\(message); \($0)" } ?? message)
    }
}

extension Transfer {
    /// What it means that a proxy answered CONNECT with this status (RFC 9110, section 9.3.6).
    fileprivate static func refusedTunnel(_ status: Int) -> String {
        status == 407
            ? "the proxy wants to be logged in to (407); put user and password into the proxy's URL"
            : "the proxy refuses to connect to the server (\(status))"
    }
}
