import HTTPTypes
public import LinuxSystem
public import Transport
import URLs

/// Fetches pictures over HTTP: conditional GETs without credentials. Follows redirects itself, so that every hop is
/// checked.
public struct CurlFetcher: AvatarFetching {
    /// Maximum number of redirects.
    static let maximumRedirects = 5

    /// The formats that every picture worker draws; a server may choose among them.
    static let accepted = "image/jpeg, image/png, image/webp, image/gif, */*;q=0.1"

    private let transport: any HTTPTransport
    private let policy: AddressPolicy
    /// nil allows any host.
    private let allowedHosts: [HostPattern]?
    private let timeouts: TransportRequest.Timeouts

    /// Creates a fetcher.
    ///
    /// - Parameters:
    ///   - transport: Preferably a separate one, whose connections nothing else uses.
    ///   - policy: The addresses that may be contacted.
    ///   - allowedHosts: Host names and addresses; names with `*.` in front for all hosts below; empty: any host.
    ///     Applies to redirects too.
    ///   - timeouts: `reply` is the time for a whole picture.
    public init(
        transport: any HTTPTransport, policy: AddressPolicy, allowedHosts: [String] = [],
        timeouts: TransportRequest.Timeouts = .init(connect: .seconds(15), stall: .seconds(30), reply: .seconds(120))
    ) {
        self.transport = transport
        self.policy = policy
        // A text that is no pattern allows no host.
        self.allowedHosts = allowedHosts.isEmpty ? nil : allowedHosts.compactMap { try? HostPattern($0) }
        self.timeouts = timeouts
    }

    /// See ``AvatarFetching/fetch(_:into:)``.
    public func fetch(_ request: AvatarRequest, into draft: SharedDescriptor) async throws(AvatarFetchError)
        -> AvatarAnswer
    {
        guard let start = try? CanonicalURL(request.url) else {
            throw .failed(.badRedirect, "\(request.url) is not an http or https URL")
        }
        let sink = DraftSink(draft)
        var hop = start
        for _ in 0...Self.maximumRedirects {
            try check(hop)
            let reply = try await ask(hop, request, sink)
            guard let next = try Self.redirect(reply, from: hop) else {
                return AvatarAnswer(
                    content: try Self.content(of: reply, for: request, length: sink.length), fields: reply.headers,
                    isFromElsewhere: hop.host != start.host)
            }
            hop = next
        }
        throw .failed(.badRedirect, "\(start.host) redirects more than \(Self.maximumRedirects) times")
    }

    /// Whether a reply with this status has the picture as its body.
    static func isPicture(_ status: Int) -> Bool { status == 200 || status == 203 }

    // MARK: One hop

    private func check(_ hop: CanonicalURL) throws(AvatarFetchError) {
        guard policy.allows(host: hop.host) else {
            throw .notAllowed("\(hop.host) is a private address; set avatar_cache.allow_private to allow it")
        }
        guard allowedHosts?.contains(where: { $0.matches(hop) }) ?? true else {
            throw .notAllowed("\(hop.host) is not one of avatar_cache.allowed_hosts; add it there to allow it")
        }
    }

    private func ask(_ hop: CanonicalURL, _ request: AvatarRequest, _ sink: DraftSink) async throws(AvatarFetchError)
        -> HTTPReply
    {
        var headers: HTTPFields = [.accept: Self.accepted]
        for case (let name, let value?) in [
            (HTTPField.Name.ifNoneMatch, request.entityTag), (.ifModifiedSince, request.lastModified),
        ] where HTTPField.isValidValue(value) {
            headers.append(HTTPField(name: name, value: value))
        }
        let policy = policy
        let get = TransportRequest(
            method: .get, url: hop.text, headers: headers, maximumReplyLength: request.maximumLength,
            timeouts: timeouts, sink: sink, mayConnect: { policy.allows($0) })
        do {
            return try await transport.send(get)
        } catch {
            throw Self.failure(error, host: hop.host, limit: request.maximumLength)
        }
    }

    private static func failure(_ error: TransportError, host: String, limit: Int) -> AvatarFetchError {
        switch error {
        case .refusedAddress(let message):
            .notAllowed("\(host): \(message); set avatar_cache.allow_private to allow it")
        case .replyTooLong:
            .failed(.tooLarge, "\(host) sends more than \(limit) bytes (avatar_cache.max_picture)")
        case .sink(let cause): .storage("the picture can't be written: \(cause)")
        case .cancelled: .cancelled
        case .resolve, .connect, .tls, .reset, .stalled, .replyTimeout, .badReply, .badURL, .badRequest, .other, .body:
            .failed(.notItsFault, "\(host): \(error)")
        }
    }

    // MARK: Replies

    /// The text of an address. A server that writes Latin-1 means these bytes, as browsers read it.
    static func text(of location: HTTPField) -> String {
        location.withUnsafeBytesOfValue { bytes in
            String(validating: bytes, as: UTF8.self)
                ?? bytes.map { byte in
                    byte < 0x80
                        ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
                }.joined()
        }
    }

    /// The target of a redirect; nil if the reply is no redirect.
    private static func redirect(_ reply: HTTPReply, from hop: CanonicalURL) throws(AvatarFetchError) -> CanonicalURL? {
        guard [301, 302, 303, 307, 308].contains(reply.status) else { return nil }
        guard let location = reply.headers[fields: .location].first, let next = hop.following(text(of: location)) else {
            throw .failed(.badRedirect, "\(hop.host) redirects to something other than an http or https URL")
        }
        // An attacker on the path could inject any picture, and https was requested to prevent this.
        if hop.isSecure, !next.isSecure {
            throw .failed(.badRedirect, "\(hop.host) redirects from https to plain http")
        }
        return next
    }

    private static func content(of reply: HTTPReply, for request: AvatarRequest, length: UInt64)
        throws(AvatarFetchError) -> AvatarAnswer.Content
    {
        if isPicture(reply.status) { return .body(length: length) }
        let message = "the server answered \(reply.status)"
        switch reply.status {
        case 304 where request.entityTag != nil || request.lastModified != nil: return .unchanged
        // A proxy, or a network that requires a log-in first (RFC 6585, section 6).
        case 407, 511: throw .failed(.notItsFault, message)
        default:
            throw .failed(
                AvatarFault(status: reply.status, retryAfter: RetryAfter.duration(in: reply.headers)), message)
        }
    }
}
