import Transport

/// The result of resolving the server's name.
enum NameFacts: Equatable, Sendable {
    case found([String])
    case failed(String)
    case late

    func findings(host: String) -> [Finding] {
        let remedy = "check the network with `ping 1.1.1.1`, then remote.url and /etc/resolv.conf"
        return switch self {
        case .found(let addresses): [Finding(.dns, .ok, "\(host) is \(addresses.joined(separator: ", "))")]
        case .failed(let reason): [Finding(.dns, .stop, "\(host) has no address: \(reason)", remedy: remedy)]
        case .late: [Finding(.dns, .stop, "the name server did not answer for \(host) in time", remedy: remedy)]
        }
    }
}

/// The result of connecting to the server, including the TLS handshake.
package struct ConnectionFacts: Sendable {
    enum Outcome: Sendable {
        case connected(ConnectionReport)
        case failed(TransportError)
        case late
    }

    /// `host:port`, or only the host if the URL has no port.
    var server: String
    var isEncrypted: Bool
    var outcome: Outcome
    /// Seconds since 1970, to compute the certificate's remaining validity.
    var now: Int64

    package var isConnected: Bool { if case .connected = outcome { true } else { false } }

    package var findings: [Finding] {
        switch outcome {
        case .connected(let report): [connected(report)] + certificate(report)
        case .late: [Finding(.connection, .stop, "\(server) gave no answer in time", remedy: Self.reach)]
        case .failed(.tls(let reason)): [CertificateTrouble(reason, server: server).finding]
        case .failed(.resolve(let reason)): [Finding(.connection, .stop, reason, remedy: Self.reach)]
        case .failed(let error):
            [Finding(.connection, .stop, "no connection: \(error)", remedy: Self.reach)]
        }
    }

    private static let reach = "check that the server runs, and host and port in remote.url"

    private func connected(_ report: ConnectionReport) -> Finding {
        let address = report.address.map { " at \($0)" } ?? ""
        let kind = isEncrypted ? "TLS" : "plain http"
        return Finding(
            .connection, .ok, "\(server)\(address) in \(Int64(report.duration / .milliseconds(1))) ms, \(kind)")
    }

    private func certificate(_ report: ConnectionReport) -> [Finding] {
        guard isEncrypted, let expiry = report.certificateExpiry else { return [] }
        let days = (expiry - now) / 86_400
        guard days < 14 else { return [Finding(.certificate, .ok, "trusted, valid for \(days) more days")] }
        return [
            Finding(
                .certificate, .warning, "trusted, but valid for \(max(days, 0)) more days only",
                remedy: "renew it on the server; uploads stop when it expires")
        ]
    }
}

/// Explains a failed handshake or a bad certificate, with a remedy.
struct CertificateTrouble {
    let finding: Finding

    private struct Meaning {
        /// Parts of messages of OpenSSL and libcurl. Any one of them identifies the problem.
        let parts: [String]
        let what: String
        let remedy: String
    }

    private static let meanings = [
        Meaning(
            parts: ["not yet valid"],
            what: "the certificate is not valid yet: the clock of this machine is probably behind",
            remedy: "sudo timedatectl set-ntp true; `timedatectl` shows the time"),
        Meaning(
            parts: ["has expired"], what: "the certificate has expired",
            remedy: "renew it on the server; if it is still valid, this machine's clock is wrong (`timedatectl`)"),
        Meaning(
            parts: ["host name", "ip address"], what: "the certificate is for another name",
            remedy: "write the certificate's host name into remote.url"),
        Meaning(
            parts: ["self-signed certificate", "self signed certificate"],
            what: "the certificate is self-signed, so this machine does not trust it",
            remedy: "set remote.ca_file to the certificate, or to that of the authority that signed it (PEM)"),
        Meaning(
            parts: ["local issuer certificate"],
            what: "the certificate is signed by an authority that this machine does not know",
            remedy: "set remote.ca_file to that authority's certificate (PEM), or `sudo apt install ca-certificates`"),
        Meaning(
            parts: ["certificate verify locations", "setting certificate file", "trust anchors"],
            what: "the file with certificate authorities can't be read",
            remedy: "correct remote.ca_file"),
        Meaning(
            parts: ["no tls handshake"], what: "the server accepts connections, but does not answer in TLS",
            remedy: "use http:// or another port in remote.url, or check the server"),
        Meaning(
            parts: ["wrong version number", "packet length"], what: "the server speaks no TLS on this port",
            remedy: "use http:// or another port in remote.url"),
    ]

    /// - Parameters:
    ///   - reason: libcurl's message.
    ///   - server: Host and port.
    init(_ reason: String, server: String) {
        let text = reason.lowercased()
        let known = Self.meanings.first { $0.parts.contains { text.contains($0) } }
        let what = known?.what ?? "the TLS handshake failed"
        finding = Finding(
            .certificate, .stop, "\(server): " + (reason.hasPrefix(what) ? reason : "\(what) (\(reason))"),
            remedy: known?.remedy ?? "see the output of `curl -v https://\(server)/`")
    }
}

extension ConnectionReport {
    /// Expiry of the certificate in seconds since 1970.
    var certificateExpiry: Int64? {
        // `Nov 21 15:00:00 2026 GMT`, with an additional space before a one-digit day (man 3 ASN1_TIME_print).
        let parts = (certificateEnd ?? "").split(separator: " ")
        guard parts.count == 5 else { return nil }
        return HTTPDate.secondsSince1970("Day, \(parts[1]) \(parts[0]) \(parts[3]) \(parts[2]) GMT")
    }
}
