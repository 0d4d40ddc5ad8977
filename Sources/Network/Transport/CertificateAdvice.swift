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
