import Transport

/// The proxy that requests to a server go through, as the environment names it (man 1 curl, "ENVIRONMENT"). Requests to
/// this machine go through none, whatever the environment says: see `CurlTransport`.
struct ProxyFacts: Equatable, Sendable {
    /// The variable that names it.
    let variable: String
    /// Its address without user name and password.
    let address: String

    /// The proxy in effect; nil where the server is asked directly.
    init?(host: String, isEncrypted: Bool, environment: [String: String]) {
        if LoopbackHost.isOne(host) { return nil }
        // `HTTP_PROXY` in capitals is not looked at: in CGI programs a request could set it.
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

    /// A list of hosts and domains, separated by commas or blanks; `*` stands for all.
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
