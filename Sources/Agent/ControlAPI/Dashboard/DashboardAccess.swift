import HTTPTypes
import LinuxSystem
import URLs

/// Decides which requests to the dashboard's address are served (docs/http.md, "The dashboard's address").
///
/// A pure value. Every user of the machine can connect to a loopback address, and every page in the user's browser can
/// send requests there.
struct DashboardAccess: Sendable {
    /// The parts of a request that matter.
    struct Visit: Sendable {
        var method = HTTPRequest.Method.get
        var path = "/"
        var host: String?
        var origin: String?
        /// `Sec-Fetch-Site` (w3.org/TR/fetch-metadata).
        var fetchSite: String?
        var cookies: [String] = []
        var authorization: String?
    }

    enum Verdict: Equatable, Sendable {
        /// The request is served.
        case serve
        /// The secret URL was opened: the browser gets the cookie.
        case welcome
        case refuse(Refusal)
    }

    enum Refusal: Equatable, Sendable {
        /// The request is for another host name, which somebody pointed at this address (DNS rebinding).
        case foreignHost
        /// Another page sends a request, and not just to open this page.
        case foreignOrigin
        /// The cookie is missing or wrong.
        case noCookie
    }

    /// Routes that take the secret as a bearer token, for programs that watch the agent.
    private static let forPrograms: Set<String> = [metrics, "/v1/health"]
    private static let metrics = "/metrics"
    /// The beginning of the secret URL's path.
    private static let door = "/open/"

    private let hosts: Set<String>
    private let keys: DashboardKeys
    private let cookieName: String
    /// The URL of the page, without the secret.
    let base: String
    /// Whether requests for `localhost` are served.
    let servesLocalhost: Bool
    /// The secret URL.
    var url: String { base + Self.door + keys.secret }

    /// - Parameters:
    ///   - host: the listening address, in brackets if it is IPv6.
    ///   - port: the listening port.
    ///   - servesLocalhost: false if another program may be what `localhost` leads to.
    init(host: String, port: Int, keys: DashboardKeys, servesLocalhost: Bool = true) {
        self.keys = keys
        self.servesLocalhost = servesLocalhost
        let names = servesLocalhost ? [host, "localhost"] : [host]
        hosts = Set(names.map { "\($0):\(port)" } + (port == 80 ? names : []))
        // Browsers send a cookie to every port of its host.
        cookieName = "outbox-\(port)"
        base = "http://\(host):\(port)"
    }

    /// The value of `Set-Cookie` (RFC 6265) that lets a browser in.
    var setCookie: String { "\(cookieName)=\(keys.cookie); HttpOnly; SameSite=Strict; Path=/" }

    /// Whether the answer depends on the token for metrics.
    func needsMetricsToken(_ visit: Visit) -> Bool {
        visit.path == Self.metrics && visit.authorization != nil && !isToken(visit.authorization, keys.secret)
    }

    /// Judges a request.
    ///
    /// - Parameter metricsToken: opens `/metrics`; nil for none.
    func judge(_ visit: Visit, metricsToken: String? = nil) -> Verdict {
        guard let host = visit.host?.lowercased(), hosts.contains(host) else { return .refuse(.foreignHost) }
        if visit.method == .get, visit.path.hasPrefix(Self.door),
            Self.isEqual(visit.path.dropFirst(Self.door.count), keys.secret)
        {
            return .welcome
        }
        let isReading = visit.method == .get || visit.method == .head
        guard isReading ? isAtHome(visit) : isFromOwnPage(visit, host) else { return .refuse(.foreignOrigin) }
        if isReading, Self.forPrograms.contains(visit.path), isToken(visit.authorization, keys.secret) { return .serve }
        if isReading, visit.path == Self.metrics, let metricsToken, isToken(visit.authorization, metricsToken) {
            return .serve
        }
        return hasCookie(visit.cookies) ? .serve : .refuse(.noCookie)
    }

    /// Browsers send the cookie with requests of pages on other ports of this host. These may only lead to this page.
    private func isAtHome(_ visit: Visit) -> Bool { visit.path == "/" || isFromOwnSite(visit) }

    private func isFromOwnSite(_ visit: Visit) -> Bool {
        visit.fetchSite.map { ["same-origin", "none"].contains($0) } ?? true
    }

    /// Browsers add both fields to such requests. Programs add neither.
    private func isFromOwnPage(_ visit: Visit, _ host: String) -> Bool {
        if let origin = visit.origin, origin.lowercased() != "http://\(host)" { return false }
        return isFromOwnSite(visit)
    }

    private func isToken(_ authorization: String?, _ token: String) -> Bool {
        guard let words = authorization?.split(separator: " "), words.count == 2, words[0].lowercased() == "bearer"
        else { return false }
        return Self.isEqual(words[1], token)
    }

    private func hasCookie(_ fields: [String]) -> Bool {
        fields.flatMap { $0.split(separator: ";") }.contains { pair in
            let pair = pair.drop { $0 == " " }
            guard pair.hasPrefix(cookieName + "=") else { return false }
            return Self.isEqual(pair.dropFirst(cookieName.count + 1), keys.cookie)
        }
    }

    /// Compares in a time that does not tell how many characters agree.
    private static func isEqual(_ text: Substring, _ secret: String) -> Bool {
        let (one, other) = (Array(text.utf8), Array(secret.utf8))
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// The secrets of one run of the agent, 128 bits each.
///
/// The cookie differs from the secret of the URL: programs on other ports of the host may see the cookie.
struct DashboardKeys: Sendable {
    let secret: String
    let cookie: String

    /// Draws new keys from the system's generator.
    init() {
        var generator = SystemRandomNumberGenerator()
        self.init(using: &generator)
    }

    init(using generator: inout some RandomNumberGenerator) {
        func word() -> String {
            let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        secret = word() + word()
        cookie = word() + word()
    }
}

/// The value of `control.dashboard`: a loopback address and a port.
package struct DashboardAddress: Equatable, Sendable {
    /// The address for a socket.
    let bindAddress: String
    /// The address in a URL.
    let host: String
    /// 0 for a free port.
    let port: Int

    /// Reads the value of the key; nil for an empty one: no dashboard.
    package init?(_ text: String) {
        let authority = Authority(text[...])
        guard let port = authority.portNumber else { return nil }
        // `localhost` might be either address. Both are reached by the name.
        let address = HostName.address(authority.host) ?? IPAddress(bytes: [127, 0, 0, 1])
        guard let address, address.isLoopback else { return nil }
        bindAddress = address.description
        host = address.isIPv4 ? bindAddress : "[\(bindAddress)]"
        self.port = Int(port)
    }

    /// The default of the key. Other users of the machine have it too.
    static let usual = DashboardAddress("127.0.0.1:8788")

    /// The ports to try, in this order; 0 for a free one. Only the default gives way to another port.
    var ports: [Int] {
        if self == Self.usual { return Array(port...port + 10) + [0] }
        // Another program may take the free port first.
        return port == 0 ? [0, 0, 0] : [port]
    }
}

extension DashboardAddress: CustomStringConvertible {
    package var description: String { "\(host):\(port)" }
}
