import Glibc
package import URLs

/// The proxies named by the environment, interpreted as by libcurl (man 1 curl, "ENVIRONMENT"): for requests that
/// need to know whether a proxy is used.
package struct ProxyEnvironment: Sendable {
    /// A proxy, and the variable that names it.
    package struct Proxy: Equatable, Sendable {
        /// The name of the variable.
        package let variable: String
        /// Its value, which may hold a password.
        package let url: String
    }

    /// Returns a variable's value; an empty value counts as missing.
    private let value: @Sendable (String) -> String?

    /// - Parameter value: Returns a variable's value; nil if the value is missing or empty.
    package init(value: @escaping @Sendable (String) -> String?) {
        self.value = value
    }

    /// The environment of this process.
    static let current = ProxyEnvironment { name in
        guard let raw = getenv(name), raw.pointee != 0 else { return nil }
        return String(cString: raw)
    }

    /// Returns the proxy for a URL; nil for none. Requests to this machine never use one.
    package func proxy(for url: WebURL) -> Proxy? {
        if url.isLoopback { return nil }
        // HTTP_PROXY in capitals is ignored: in a CGI program the client controls its value ("httpoxy").
        let names =
            url.isSecure
            ? ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] : ["http_proxy", "all_proxy", "ALL_PROXY"]
        let set = names.lazy.compactMap { name in value(name).map { Proxy(variable: name, url: $0) } }.first
        guard let set, !isExempt(Self.name(of: url.authority.host)) else { return nil }
        return set
    }

    /// Whether `no_proxy` lists the host: a name covers itself and all subdomains; addresses and `*` work as well.
    /// Networks with a mask are not supported: their hosts use the proxy.
    private func isExempt(_ host: String) -> Bool {
        guard let list = value("no_proxy") ?? value("NO_PROXY") else { return false }
        return list.split(whereSeparator: { ", \t".contains($0) }).contains { entry in
            if entry == "*" { return true }
            let name = entry.lowercased().drop { $0 == "." || $0 == "[" }.prefix { $0 != "]" }
            return !name.isEmpty && (host == name || host.hasSuffix(".\(name)"))
        }
    }

    /// Returns the form of a host that `no_proxy` is compared with: lower case, without brackets and trailing dot.
    private static func name(of host: Substring) -> String {
        if host.first == "[" { return host.dropFirst().prefix { $0 != "]" }.lowercased() }
        return (host.last == "." ? host.dropLast() : host).lowercased()
    }
}
