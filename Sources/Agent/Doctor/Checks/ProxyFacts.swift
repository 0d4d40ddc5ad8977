import Transport
import URLs

/// The proxy for requests to a server, as configured in the environment (man 1 curl, "ENVIRONMENT"). Requests to this
/// machine never use a proxy: see `CurlTransport`.
struct ProxyFacts: Equatable, Sendable {
    /// The environment variable that names the proxy.
    let variable: String
    /// The proxy's address without user name and password.
    let address: String

    /// Finds the proxy in effect; nil if requests go directly to the server.
    init?(url: String, environment: [String: String]) {
        let proxies = ProxyEnvironment { name in environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        guard let proxy = WebURL(url).flatMap({ proxies.proxy(for: $0) }) else { return nil }
        variable = proxy.variable
        address = Self.withoutCredentials(proxy.url)
    }

    var findings: [Finding] {
        [Finding(.proxy, .note, "requests go through \(address) (\(variable))")]
    }

    private static func withoutCredentials(_ url: String) -> String {
        guard let at = url.lastIndex(of: "@") else { return url }
        let scheme = url.ranges(of: "://").first.map { url[..<$0.upperBound] } ?? ""
        return String(scheme + url[url.index(after: at)...])
    }
}
