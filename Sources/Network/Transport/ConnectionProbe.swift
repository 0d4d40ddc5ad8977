import CCurl
import URLs

/// The facts learned by connecting to a server.
public struct ConnectionReport: Sendable {
    /// The connected address; the proxy's address if a proxy is used.
    public let address: String?
    /// Time from the name look-up to the end of the TLS handshake.
    public let duration: Duration
    /// `notAfter` of the server's certificate in OpenSSL's format, `Nov 21 15:00:00 2026 GMT`; nil over plain http,
    /// or if libcurl's TLS library does not report the date.
    public let certificateEnd: String?

    /// Creates a report.
    public init(address: String?, duration: Duration, certificateEnd: String?) {
        self.address = address
        self.duration = duration
        self.certificateEnd = certificateEnd
    }
}

/// Connects to a server, performs the TLS handshake, and closes the connection without sending a request: for
/// diagnosis.
public enum ConnectionProbe {
    /// Connects as ``CurlTransport`` does, through the same proxies and with the same trust.
    ///
    /// Blocks until the connection is established or `timeout` has passed, so the call needs a dedicated thread.
    ///
    /// - Parameters:
    ///   - url: the server's URL, `http` or `https`.
    ///   - caFile: PEM file with certificate authorities to trust in addition to the system's; nil trusts only the
    ///     system's.
    ///   - timeout: for all steps together.
    /// - Throws: ``TransportError`` of the failed step.
    public static func connect(to url: String, caFile: String?, timeout: Duration) throws(TransportError)
        -> ConnectionReport
    {
        guard CurlLibrary.initialisation == CURLE_OK, let easy = curl_easy_init() else {
            throw .other("libcurl can't be started")
        }
        defer { curl_easy_cleanup(easy) }
        let detail = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
        defer { detail.deallocate() }
        detail.initialize(repeating: 0)
        outbox_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, detail.baseAddress)
        prepare(easy, url: url, caFile: caFile, timeout: timeout)
        let code = curl_easy_perform(easy)
        guard code == CURLE_OK else {
            // libcurl knows the address once TCP is connected; so the handshake took too long.
            if code == CURLE_OPERATION_TIMEDOUT, address(of: easy) != nil {
                throw .tls("connected, but no TLS handshake within \(timeout)")
            }
            throw TransportError(code, detail: detail.baseAddress.map { String(cString: $0) } ?? "")
        }
        return report(of: easy)
    }

    private static func prepare(
        _ easy: UnsafeMutableRawPointer, url: String, caFile: String?, timeout: Duration
    ) {
        outbox_curl_set_string(easy, CURLOPT_URL, url)
        outbox_curl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        // An empty name overrides the environment (man 3 CURLOPT_PROXY).
        if WebURL(url)?.isLoopback == true { outbox_curl_set_string(easy, CURLOPT_PROXY, "") }
        outbox_curl_set_long(easy, CURLOPT_CONNECT_ONLY, 1)
        outbox_curl_set_long(easy, CURLOPT_CERTINFO, 1)
        outbox_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        outbox_curl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
        outbox_curl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 1)
        outbox_curl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 2)
        outbox_curl_set_long(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        outbox_curl_set_long(easy, CURLOPT_TIMEOUT_MS, Int(clamping: max(timeout.nanoseconds / 1_000_000, 1)))
        guard let caFile else { return }
        outbox_curl_set_string(easy, CURLOPT_CAINFO, caFile)
        if let directory = CurlLibrary.systemAuthorities { outbox_curl_set_string(easy, CURLOPT_CAPATH, directory) }
    }

    private static func report(of easy: UnsafeMutableRawPointer) -> ConnectionReport {
        let handshake = outbox_curl_offset_info(easy, CURLINFO_APPCONNECT_TIME_T)
        let connect = outbox_curl_offset_info(easy, CURLINFO_CONNECT_TIME_T)
        let end = outbox_curl_certificate_field(easy, "Expire date").map { String(cString: $0) }
        return ConnectionReport(
            address: address(of: easy),
            duration: .microseconds(Int64(max(handshake, connect))), certificateEnd: end)
    }

    private static func address(of easy: UnsafeMutableRawPointer) -> String? {
        guard let text = outbox_curl_string_info(easy, CURLINFO_PRIMARY_IP).map({ String(cString: $0) }) else {
            return nil
        }
        return text.isEmpty ? nil : text
    }
}
