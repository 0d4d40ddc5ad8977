import CCurl

extension TransportError {
    /// What a code of libcurl means (man 3 libcurl-errors).
    ///
    /// - Parameter detail: what libcurl wrote into CURLOPT_ERRORBUFFER, or nothing.
    init(_ code: CURLcode, detail: String) {
        let message = Self.message(detail, or: String(cString: curl_easy_strerror(code)))
        self =
            switch code {
            case CURLE_URL_MALFORMAT: .badURL(message)
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .resolve(message)
            // The one timeout libcurl is given is that for connecting.
            case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_INTERFACE_FAILED, CURLE_OPERATION_TIMEDOUT:
                .connect(message)
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
                CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
                CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED, CURLE_SSL_CRL_BADFILE:
                .tls(Self.explained(message))
            case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE: .reset(message)
            case CURLE_FILESIZE_EXCEEDED: .replyTooLong(message)
            // Unsupported is what libcurl calls HTTP/0.9, that is any bytes at all: the URL's scheme was checked before.
            case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_BAD_CONTENT_ENCODING:
                .badReply(message)
            default: .other(message)
            }
    }

    /// Says in words what the commonest mistakes in a configuration lead to. OpenSSL takes the first bytes of an HTTP reply for
    /// a TLS record of an unknown version, or of an odd length.
    private static func explained(_ message: String) -> String {
        let text = message.lowercased()
        // The words changed between versions of libcurl.
        let words = ["certificate verify locations", "setting certificate file", "trust anchors"]
        if words.contains(where: text.contains) {
            return "the file with certificate authorities can't be read; correct remote.ca_file (\(message))"
        }
        guard text.contains("wrong version number") || text.contains("packet length too long") else { return message }
        let detail = message.split(separator: ":").last ?? ""
        return "the server speaks no TLS on this port; use http:// or the port for https:// (\(detail))"
    }

    /// Messages about a proxy quote its URL from the environment, password and all: what may be one is replaced.
    static func message(_ detail: String, or general: String) -> String {
        detail.isEmpty || detail.contains("@") ? general : detail
    }
}
