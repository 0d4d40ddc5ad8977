/// Advice about an untrusted certificate.
enum CertificateAdvice {
    /// - Parameters:
    ///   - verifyResult: CURLINFO_SSL_VERIFYRESULT, an X509_V_ERR number of OpenSSL (man 1
    ///     openssl-verification-options, openssl/x509_vfy.h); 0 for a valid chain.
    ///   - isAboutPeer: whether the certificate caused the handshake's failure.
    /// - Returns: nil if no advice is known.
    static func text(verifyResult: Int, isAboutPeer: Bool) -> String? {
        switch verifyResult {
        case 9: "either this machine's clock is behind, or the certificate was put to use too early"
        case 10: "the server needs a new certificate, unless this machine's clock is ahead"
        case 18...21: "if the server has a certificate authority of its own, name its certificate as ca_file"
        case 0 where isAboutPeer:
            "the URL names another host than the certificate, or a captive portal answers for the server: "
                + "check the URL, log in to the network"
        default: nil
        }
    }
}
