import CCurl
import Glibc
import HTTPTypes
import URLs

/// Sets all options of one transfer on a new or reset easy handle.
struct TransferSetup {
    /// Maximum size of one read from a body, in bytes. Twice the size gained nothing in measurements, half the size
    /// cost a tenth more CPU.
    private static let longestRead: UInt64 = 256 << 10

    let transfer: Transfer
    let configuration: CurlTransport.Configuration
    let sockets: SocketRegistry

    private var easy: UnsafeMutableRawPointer { transfer.easy }
    private var request: TransportRequest { transfer.submission.request }
    private var url: WebURL { transfer.submission.url }

    func apply() {
        applyConnection()
        applyRoute()
        if request.mayConnect != nil { applyPeerChecks() }
        applyTrust()
        applyRequest()
        applyCallbacks()
    }

    private func applyConnection() {
        // No signals for name look-ups (man 3 CURLOPT_NOSIGNAL); the thread has SIGPIPE blocked.
        set(CURLOPT_NOSIGNAL, 1)
        // An aborted transfer does not wait for a running name look-up.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        set(CURLOPT_TCP_NODELAY, 1)
        applyProbing()
        // Every running transfer allocates its buffer. libcurl raises sizes below 16 KiB.
        set(CURLOPT_UPLOAD_BUFFERSIZE, Int(min(transfer.length, Self.longestRead)))
        set(CURLOPT_BUFFERSIZE, 16 << 10)
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: max(transfer.timeouts.connect.nanoseconds / 1_000_000, 1)))
    }

    /// Enables keep-alive probes. While sending, TCP_USER_TIMEOUT detects a network that drops all packets. While
    /// waiting for a reply, only the kernel's own probes can be acknowledged.
    private func applyProbing() {
        let seconds = Int(clamping: transfer.timeouts.stall.nanoseconds / 1_000_000_000)
        let interval = min(max(seconds, 5), 60)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_TCP_KEEPIDLE, interval)
        set(CURLOPT_TCP_KEEPINTVL, interval)
    }

    private func applyRoute() {
        // Look up the name for each new connection: a cached address from a previous network would keep failing.
        // Look-ups run on separate threads (man 3 CURLOPT_DNS_CACHE_TIMEOUT).
        set(CURLOPT_DNS_CACHE_TIMEOUT, 0)
        // An empty name overrides the environment (man 3 CURLOPT_PROXY).
        if url.isLoopback { set(CURLOPT_PROXY, "") }
        // The request's fields, such as the token, are only for the server, never for a tunnel's proxy.
        set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    }

    /// Sets the proxy explicitly: only then is it known whether an address belongs to the proxy.
    private func applyPeerChecks() {
        let proxy = ProxyEnvironment.current.proxy(for: url)
        set(CURLOPT_PROXY, proxy?.url ?? "")
        // An empty list overrides the environment (man 3 CURLOPT_NOPROXY).
        set(CURLOPT_NOPROXY, "")
        if proxy != nil { return }
        outbox_curl_set_peer_checks(
            easy,
            { context, _, peer in
                guard let peer, let address = String(peer: peer),
                    Transfer.from(context)?.mayConnect(to: address) == true
                else { return CURL_SOCKET_BAD }
                return outbox_open_socket(peer)
            },
            { context, address, _, _, _ in
                // The connection may come from an earlier request without a check.
                guard let address, Transfer.from(context)?.mayConnect(to: String(cString: address)) == true else {
                    return CURL_PREREQFUNC_ABORT
                }
                return CURL_PREREQFUNC_OK
            }, Unmanaged.passUnretained(transfer).toOpaque())
    }

    private func applyTrust() {
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        guard let caFile = configuration.caFile else { return }
        set(CURLOPT_CAINFO, caFile)
        set(CURLOPT_PROXY_CAINFO, caFile)
        if let directory = CurlLibrary.systemAuthorities {
            set(CURLOPT_CAPATH, directory)
            set(CURLOPT_PROXY_CAPATH, directory)
        }
    }

    private func applyRequest() {
        set(CURLOPT_URL, request.url)
        // Keep the caller's encoding: "/../" may be part of an object's name.
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_USERAGENT, configuration.userAgent)
        // The Content-Length of a reply to HEAD is that of the content, which does not follow (RFC 9110, section 9.3.2).
        if request.method != .head { set(CURLOPT_MAXFILESIZE_LARGE, offset: Int64(request.maximumReplyLength)) }
        if transfer.body != nil || [.post, .put, .patch].contains(request.method) {
            // Every method sends its body as an upload, which adds no Content-Type of its own.
            set(CURLOPT_UPLOAD, 1)
            set(CURLOPT_INFILESIZE_LARGE, offset: Int64(clamping: transfer.length))
        } else if request.method == .head {
            set(CURLOPT_NOBODY, 1)
        }
        set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)

        // Some servers compress whatever the client says (RFC 9110, section 12.5.3). libcurl decodes all that it knows once
        // this option is set, and counts the limit of the reply in decoded bytes. A part of a compressed body can't be
        // decoded.
        if !request.headers.contains(.range) { set(CURLOPT_ACCEPT_ENCODING, "identity") }
        // libcurl sends "Name;" as a field without value, and omits the field for "Name:". Waiting for "100 Continue"
        // would cost a second with every server that does not support it.
        var lines = request.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0)" }
        if let type = transfer.bodyContentType { lines.append("Content-Type: \(type)") }
        lines.append("Expect:")
        for line in lines { transfer.headerList = curl_slist_append(transfer.headerList, line) }
        outbox_curl_set_list(easy, CURLOPT_HTTPHEADER, transfer.headerList)
    }

    /// libcurl stores pointers without owning the objects: the loop keeps the transfer until the handle is reset, and
    /// the registry until the last connection is closed.
    private func applyCallbacks() {
        let context = Unmanaged.passUnretained(transfer).toOpaque()
        outbox_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, transfer.errorBuffer.baseAddress)
        for option in [CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA] {
            outbox_curl_set_pointer(easy, option, context)
        }
        outbox_curl_set_sockets(
            easy,
            { context, descriptor, _ in
                Transfer.from(context)?.opened(descriptor)
                return CURL_SOCKOPT_OK
            }, context,
            { registry, descriptor in
                guard let registry else { return close(descriptor) }
                return Unmanaged<SocketRegistry>.fromOpaque(registry).takeUnretainedValue().close(descriptor)
            }, Unmanaged.passUnretained(sockets).toOpaque())
        outbox_curl_set_read(easy) { buffer, size, count, context in
            guard let transfer = Transfer.from(context) else { return Int(CURL_READFUNC_ABORT) }
            return transfer.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
        }
        outbox_curl_set_seek(easy) { context, offset, origin in
            guard offset == 0, origin == SEEK_SET, let transfer = Transfer.from(context) else {
                return CURL_SEEKFUNC_FAIL
            }
            return transfer.rewind() ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
        }
        outbox_curl_set_write(easy, CURLOPT_HEADERFUNCTION) { buffer, size, count, context in
            let line = UnsafeRawBufferPointer(start: buffer, count: size * count)
            return Transfer.from(context)?.receive(headerLine: line) == true ? line.count : -1
        }
        outbox_curl_set_write(easy, CURLOPT_WRITEFUNCTION) { buffer, size, count, context in
            let bytes = UnsafeRawBufferPointer(start: buffer, count: size * count)
            return Transfer.from(context)?.receive(body: bytes) == true ? bytes.count : -1
        }
    }

    private func set(_ option: CURLoption, _ value: Int) {
        outbox_curl_set_long(easy, option, value)
    }

    private func set(_ option: CURLoption, offset value: Int64) {
        outbox_curl_set_offset(easy, option, curl_off_t(value))
    }

    private func set(_ option: CURLoption, _ value: String) {
        outbox_curl_set_string(easy, option, value)
    }
}

extension String {
    /// Formats an address in the notation of inet_ntop(3); nil for a family other than IPv4 and IPv6.
    fileprivate init?(peer: UnsafePointer<curl_sockaddr>) {
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text -> String? in
            guard let start = text.baseAddress, outbox_peer_address(peer, start, UInt32(text.count)) == 0 else {
                return nil
            }
            return String(cString: start)
        }
        guard let text else { return nil }
        self = text
    }
}

extension Transfer {
    fileprivate static func from(_ context: UnsafeMutableRawPointer?) -> Transfer? {
        context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
    }
}
