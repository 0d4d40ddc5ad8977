import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// The addresses of this server: the prefix of its links, and the hosts that a receiver without tokens accepts.
final class Addresses: Sendable {
    private let listen: ListenAddress
    /// The public URL without a trailing slash.
    private let publicURL: String?
    private let port: Mutex<Int>

    init(listen: ListenAddress, publicURL: String?) {
        self.listen = listen
        self.publicURL = publicURL.map { Links(publicURL: $0).prefix }
        port = Mutex(listen.port)
    }

    /// Sets the port once the system has chosen one.
    func setPort(_ number: Int) {
        port.withLock { $0 = number }
    }

    var listeningPort: Int { port.withLock(\.self) }

    // MARK: Links

    /// Returns the links for the reply to a request.
    ///
    /// Links begin with the public URL, or else with the listen address. The wildcard addresses 0.0.0.0 and :: name
    /// no machine, so links then begin with the address from the client's request.
    ///
    /// - Parameters:
    ///   - host: The request's `Host`.
    ///   - reached: The local address of the connection, used if the client sent no `Host`.
    func links(host: String?, reached: SocketAddress?) -> Links {
        if let publicURL { return Links(prefix: publicURL) }
        let address = ListenAddress(host: listen.host, port: listeningPort)
        guard listen.isWildcard else { return Links(prefix: address.url) }
        if let host, HostField(host) != nil { return Links(prefix: "http://\(host)") }
        guard let reached, let ip = reached.ipAddress, let port = reached.port else {
            return Links(prefix: address.url)
        }
        return Links(prefix: ListenAddress(host: ip, port: port).url)
    }

    // MARK: Web pages

    /// Refuses requests that a web page made a browser send to a receiver without tokens.
    ///
    /// A page of another site is recognised by its `Origin` (RFC 6454). A page whose own name resolves to this
    /// machine (DNS rebinding) is recognised by its `Host`. A client other than a browser may omit both.
    ///
    /// The port of `Host` may differ from the listen port, as behind an SSH tunnel: no page chooses the port freely.
    func check(host: String?, origin: String?) throws(Refusal) {
        let known = host.flatMap { HostField($0) }
        if let host, known.map({ !isOurs($0) }) ?? true {
            throw .foreign("Host \(LogText.quoted(host))", expected: expected)
        }
        guard let origin, !isSame(origin, host: known) else { return }
        throw .foreign("Origin \(LogText.quoted(origin))", expected: expected)
    }

    /// Whether browsers reach this server over TLS.
    var isEncrypted: Bool { publicURL?.lowercased().hasPrefix("https://") ?? false }

    /// Refuses a form that a page of another site sent. Browsers that do not say where a page comes from
    /// (https://www.w3.org/TR/fetch-metadata/) name at least its origin.
    func checkForm(_ request: Request) throws(Refusal) {
        if let site = HTTPField.Name("Sec-Fetch-Site").flatMap({ request.headers[$0] }) {
            guard site == "same-origin" || site == "none" else { throw .foreignForm }
        } else if let origin = request.headers[.origin] {
            guard isSame(origin, host: request.head.authority.flatMap { HostField($0) }) else { throw .foreignForm }
        }
    }

    private func isSame(_ origin: String, host: HostField?) -> Bool {
        guard let authority = Self.authority(of: origin) else { return false }
        return authority == host?.text || authority == publicURL.flatMap(Self.authority)
    }

    private func isOurs(_ host: HostField) -> Bool {
        if ListenAddress(host: host.name, port: 0).isLoopback || host.name == listen.host.lowercased() { return true }
        return host.name == publicURL.flatMap(Self.authority).flatMap { HostField($0) }?.name
    }

    private var expected: String { publicURL ?? ListenAddress(host: listen.host, port: port.withLock { $0 }).url }

    /// Returns `photos.example.org:8787` for `http://photos.example.org:8787/box`; nil for a URL without authority,
    /// such as `null`.
    private static func authority(of url: String) -> String? {
        guard let scheme = ["http://", "https://"].first(where: { url.lowercased().hasPrefix($0) }) else { return nil }
        return url.dropFirst(scheme.count).prefix { $0 != "/" }.lowercased()
    }
}

/// A well-formed `Host` field (RFC 9110, 7.2).
struct HostField: Equatable {
    /// The whole field, in lower case.
    let text: String
    /// The host without port and brackets.
    let name: String

    /// Returns nil for anything that may not stand in the authority of a URL.
    init?(_ field: String) {
        text = field.lowercased()
        guard text.utf8.count <= 255 else { return nil }
        var rest = text[...]
        if rest.first == "[" {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            name = String(rest[rest.index(after: rest.startIndex)..<end])
            guard name.contains(":"), name.utf8.allSatisfy({ "0123456789abcdef:.".utf8.contains($0) }) else {
                return nil
            }
            rest = rest[rest.index(after: end)...]
        } else {
            let end = rest.firstIndex(of: ":") ?? rest.endIndex
            name = String(rest[..<end])
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isNamePart) else { return nil }
            rest = rest[end...]
        }
        guard rest.isEmpty || rest.first == ":" && rest.dropFirst().utf8.allSatisfy(Self.isDigit) else { return nil }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || isDigit(byte) || "-._".utf8.contains(byte)
    }
}
