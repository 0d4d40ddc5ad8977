import CCurl
import Glibc
import HTTPTypes

/// One request during its transfer by libcurl; used only by the transport's thread.
final class Transfer {
    /// Maximum size of a reply's header in bytes.
    private static let maximumHeaderLength = 64 << 10

    let submission: Submission
    let easy: UnsafeMutableRawPointer
    let timeouts: TransportRequest.Timeouts
    let body: (any BodySource)?
    /// The body's Content-Type if the transport chooses the type.
    let bodyContentType: String?
    /// libcurl's buffer for error messages; must outlive the transfer.
    let errorBuffer = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    /// Header fields in libcurl's format; freed by this type because libcurl does not free them.
    var headerList: UnsafeMutablePointer<curl_slist>?

    /// Bytes that the bandwidth limit allows the transfer to send at once; set by the throttle.
    var allowance: UInt64 = 0
    /// Whether the bandwidth limit pauses the transfer; set by the throttle.
    var isThrottled = false

    private let throttle: Throttle
    private let sockets: SocketRegistry
    private var watch: ProgressWatch
    /// Number of acknowledged body bytes last reported to the request's owner.
    private var reported: UInt64 = 0
    private var delivered: UInt64 = 0
    private var bodyError: (any Error)?
    private var fields = HTTPFields()
    private var headerLength = 0
    private var replyBody: [UInt8] = []
    private var replyLength = 0
    private var isReplyTooLong = false
    private var sinkError: (any Error)?
    /// Whether the sink takes the body; nil until the first bytes of the body.
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

    /// Length of the body in bytes; 0 without a body.
    var length: UInt64 { body?.length ?? 0 }

    /// Registers a socket opened for this transfer's connection.
    func opened(_ descriptor: Int32) {
        sockets.opened(descriptor)
        outbox_set_user_timeout(descriptor, UInt32(clamping: max(timeouts.stall.nanoseconds / 1_000_000, 1)))
    }

    // MARK: Sending

    /// Copies the next bytes of the body.
    ///
    /// - Returns: the number of bytes, or CURL_READFUNC_PAUSE or CURL_READFUNC_ABORT. Never 0 before the promised
    ///   end: libcurl would wait for the rest for ever.
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

    /// Rewinds the body and discards the reply so far.
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

    /// Whether a re-used connection turned out to be dead before the first byte of the reply. True at most once.
    func mayBeSentAgain(after code: CURLcode) -> Bool {
        guard code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING, !wasSentAgain,
            headerLength == 0, outbox_curl_long_info(easy, CURLINFO_NUM_CONNECTS) == 0
        else { return false }
        wasSentAgain = true
        return true
    }

    // MARK: Receiving

    /// Receives one line of the reply's header.
    ///
    /// - Returns: whether to continue.
    func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        headerLength += line.count
        guard headerLength <= Self.maximumHeaderLength else {
            isReplyTooLong = true
            return false
        }
        if line.starts(with: "HTTP/".utf8) {
            // The header so far belonged to an interim reply or to a proxy's reply.
            fields = HTTPFields()
        } else if let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
        {
            // Removes the white space around the value, including the end of the line.
            fields.append(HTTPField(name: name, value: line[(colon + 1)...]))
        }
        return true
    }

    /// Receives bytes of the reply's body.
    ///
    /// - Returns: whether to continue.
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

    // MARK: Address and connection

    /// - Returns: whether the request may use an address, given in the notation of inet_ntop(3).
    func mayConnect(to address: String) -> Bool {
        guard let mayConnect = submission.request.mayConnect else { return true }
        return peers.note(address, isAllowed: mayConnect(address))
    }

    // MARK: Outcome

    /// The local end of the transfer's connection; nil before the connection exists.
    var localEndpoint: SocketRegistry.Endpoint? {
        guard let address = outbox_curl_string_info(easy, CURLINFO_LOCAL_IP).map({ String(cString: $0) }),
            !address.isEmpty
        else { return nil }
        return SocketRegistry.Endpoint(address: address, port: outbox_curl_long_info(easy, CURLINFO_LOCAL_PORT))
    }

    /// Returns the time since the other end received the whole request; nil before that, and once the reply has
    /// begun.
    func silence(at now: UInt64) -> Duration? {
        headerLength == 0 ? watch.silence(at: now) : nil
    }

    /// - Parameter unacknowledged: bytes still in the kernel.
    /// - Returns: the reason to give up; nil to continue.
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

    /// Reports acknowledged bytes instead of bytes accepted by the kernel: the kernel accepts a whole fragment at
    /// once, which keeps a slow link busy for a minute.
    private func report(acknowledged: UInt64) {
        guard let onProgress = submission.request.onProgress, acknowledged != reported else { return }
        reported = acknowledged
        onProgress(min(acknowledged, length))
    }

    /// Returns the caller's result for a transfer that libcurl has ended.
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
            return .failure(.stalled("the server acknowledged no byte for too long"))
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
    /// Explains a proxy's answer to CONNECT (RFC 9110, section 9.3.6).
    fileprivate static func refusedTunnel(_ status: Int) -> String {
        status == 407
            ? "the proxy requires a login (407); put user and password into the proxy's URL"
            : "the proxy refuses to connect to the server (\(status))"
    }
}
