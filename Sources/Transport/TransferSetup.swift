import CCurl
import Glibc
import HTTPTypes

/// Tells an easy handle, new or reset, everything about one transfer.
struct TransferSetup {
    /// The largest read a body sees. Twice as much gained nothing in measurements, half as much cost a tenth more CPU;
    /// every transfer under way holds one.
    private static let uploadBufferLength = 256 << 10

    let transfer: Transfer
    let configuration: CurlTransport.Configuration
    let sockets: SocketRegistry

    private var easy: UnsafeMutableRawPointer { transfer.easy }
    private var request: TransportRequest { transfer.submission.request }

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
        // An aborted transfer does not wait for a name look-up that is still under way.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        set(CURLOPT_TCP_NODELAY, 1)
        applyProbing()
        set(CURLOPT_UPLOAD_BUFFERSIZE, Self.uploadBufferLength)
        set(CURLOPT_BUFFERSIZE, 16 << 10)
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: max(transfer.timeouts.connect.nanoseconds / 1_000_000, 1)))
    }

    /// While sending, TCP_USER_TIMEOUT notices a network that swallows everything; while a reply is waited for there is
    /// nothing to be acknowledged but the kernel's own probes.
    private func applyProbing() {
        let seconds = Int(clamping: transfer.timeouts.stall.nanoseconds / 1_000_000_000)
        let interval = min(max(seconds, 5), 60)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_TCP_KEEPIDLE, interval)
        set(CURLOPT_TCP_KEEPINTVL, interval)
    }

    private func applyRoute() {
        // A name is looked up for each new connection: an address of the network before would keep failing, and look-ups
        // run on threads of their own (man 3 CURLOPT_DNS_CACHE_TIMEOUT).
        set(CURLOPT_DNS_CACHE_TIMEOUT, 0)
        // An empty name overrides the environment (man 3 CURLOPT_PROXY).
        if LoopbackHost.isNamed(in: request.url) { set(CURLOPT_PROXY, "") }
        // The request's fields, a token among them, are for the server and never for the proxy that makes the tunnel.
        set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    }

    /// Only with a route of its own choice is it known whether an address is the proxy's.
    private func applyPeerChecks() {
        let proxy = LoopbackHost.isNamed(in: request.url) ? nil : ProxyEnvironment.current.proxy(for: request.url)
        set(CURLOPT_PROXY, proxy ?? "")
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
                // The connection may have been made for a request that asked for no check.
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
        // The caller's encoding stands: "/../" may be part of an object's name.
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_USERAGENT, configuration.userAgent)
        set(CURLOPT_MAXFILESIZE_LARGE, offset: Int64(request.maximumReplyLength))
        if transfer.body != nil || [.post, .put, .patch].contains(request.method) {
            // Every method's body goes the way of an upload, which adds no Content-Type of its own.
            set(CURLOPT_UPLOAD, 1)
            set(CURLOPT_INFILESIZE_LARGE, offset: Int64(clamping: transfer.length))
        } else if request.method == .head {
            set(CURLOPT_NOBODY, 1)
        }
        set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)

        // "Name;" is how libcurl is asked for a field without value, "Name:" how for none at all. Waiting for "100
        // Continue" would cost a second with every server that does not know it.
        var lines = request.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0)" }
        if let type = transfer.bodyContentType { lines.append("Content-Type: \(type)") }
        lines.append("Expect:")
        for line in lines { transfer.headerList = curl_slist_append(transfer.headerList, line) }
        outbox_curl_set_list(easy, CURLOPT_HTTPHEADER, transfer.headerList)
    }

    /// libcurl holds the addresses without owning what is there: the loop keeps the transfer until the handle is reset,
    /// and the registry until the last connection is closed.
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
    /// As inet_ntop(3) writes it; nil where it is of no IP family.
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
