import CCurl

extension TransportError {
    /// Translates a libcurl code (man 3 libcurl-errors).
    ///
    /// - Parameter detail: libcurl's text in CURLOPT_ERRORBUFFER, possibly empty.
    init(_ code: CURLcode, detail: String) {
        let message = Self.message(detail, or: String(cString: curl_easy_strerror(code)))
        self =
            switch code {
            case CURLE_URL_MALFORMAT: .badURL(message)
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .resolve(message)
            // The connect timeout is libcurl's only timeout here.
            case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_INTERFACE_FAILED, CURLE_OPERATION_TIMEDOUT:
                .connect(message)
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
                CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
                CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED, CURLE_SSL_CRL_BADFILE:
                .tls(Self.explained(message))
            case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE: .reset(message)
            case CURLE_FILESIZE_EXCEEDED: .replyTooLong(message)
            // libcurl reports HTTP/0.9, which can be any bytes, as an unsupported protocol; the URL's scheme was
            // checked before.
            case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_BAD_CONTENT_ENCODING:
                .badReply(message)
            default: .other(message)
            }
    }

    /// Explains the errors of the commonest configuration mistakes. OpenSSL takes the first bytes of an HTTP reply
    /// for a TLS record of an unknown version or an odd length.
    private static func explained(_ message: String) -> String {
        let text = message.lowercased()
        // libcurl's wording differs between versions.
        let words = ["certificate verify locations", "setting certificate file", "trust anchors"]
        if words.contains(where: text.contains) {
            return "the file with certificate authorities can't be read; correct remote.ca_file (\(message))"
        }
        guard text.contains("wrong version number") || text.contains("packet length too long") else { return message }
        let detail = message.split(separator: ":").last ?? ""
        return "the server speaks no TLS on this port; use http:// or the port for https:// (\(detail))"
    }

    /// Hides messages that may quote a proxy's URL from the environment, which can contain a password.
    static func message(_ detail: String, or general: String) -> String {
        detail.isEmpty || detail.contains("@") ? general : detail
    }
}

/// Advice about an untrusted certificate.
enum CertificateAdvice {
    /// - Parameters:
    ///   - verifyResult: CURLINFO_SSL_VERIFYRESULT, an X509_V_ERR number of OpenSSL (man 1
    ///     openssl-verification-options, openssl/x509_vfy.h); 0 for a valid chain.
    ///   - isAboutPeer: whether the certificate caused the handshake's failure.
    /// - Returns: nil if no advice is known.
    static func text(verifyResult: Int, isAboutPeer: Bool) -> String? {
        switch verifyResult {
        case 9: "set this machine's clock if it is behind; otherwise the server uses its certificate too early"
        case 10: "set this machine's clock if it is ahead; otherwise the server needs a new certificate"
        case 18...21: "if the server has a certificate authority of its own, set remote.ca_file to its certificate"
        case 0 where isAboutPeer:
            "the certificate is for another host, or a captive portal answers instead of the server; "
                + "check the URL, or log in to the network"
        default: nil
        }
    }
}
