import Transport

/// The proxy for requests to a server, as configured in the environment (man 1 curl, "ENVIRONMENT"). Requests to this
/// machine never use a proxy: see `CurlTransport`.
struct ProxyFacts: Equatable, Sendable {
    /// The environment variable that names the proxy.
    let variable: String
    /// The proxy's address without user name and password.
    let address: String

    /// Finds the proxy in effect; nil if requests go directly to the server.
    init?(host: String, isEncrypted: Bool, environment: [String: String]) {
        if LoopbackHost.isOne(host) { return nil }
        // Uppercase `HTTP_PROXY` is ignored: in CGI programs, a request could set it.
        let own = isEncrypted ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        let set = (own + ["all_proxy", "ALL_PROXY"]).first { !(environment[$0] ?? "").isEmpty }
        guard let set, let value = environment[set] else { return nil }
        let exceptions = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
        guard !Self.isExcepted(host, by: exceptions) else { return nil }
        variable = set
        address = Self.withoutCredentials(value)
    }

    var findings: [Finding] {
        [Finding(.proxy, .note, "requests go through \(address) (\(variable))")]
    }

    /// Whether a list of hosts and domains, separated by commas or spaces, contains the host; `*` matches all.
    private static func isExcepted(_ host: String, by list: String) -> Bool {
        list.split(whereSeparator: { $0 == "," || $0 == " " }).contains { entry in
            let name = entry.drop { $0 == "." }.lowercased()
            return name == "*" || host == name || (!name.isEmpty && host.hasSuffix("." + name))
        }
    }

    private static func withoutCredentials(_ url: String) -> String {
        guard let at = url.lastIndex(of: "@") else { return url }
        let scheme = url.ranges(of: "://").first.map { url[..<$0.upperBound] } ?? ""
        return String(scheme + url[url.index(after: at)...])
    }
}
