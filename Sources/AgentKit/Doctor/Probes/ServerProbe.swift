import FoundationEssentials
import Glibc
import LinuxSystem
import Remotes
import Transport

/// Asks the server what it is, within a bounded time.
struct ServerProbe: Sendable {
    let configuration: Configuration
    let environment: [String: String]
    let token: TokenFacts
    let version: String

    /// For each of: the name, the connection, the answer.
    private static let limit = Duration.seconds(10)

    /// Findings about proxy, name, connection, certificate, answer, credentials, the header of fragments and clock.
    func findings() async -> [Finding] {
        let url = configuration.remote.url
        guard let address = try? WebAddress(url) else { return [] }
        let proxy = ProxyFacts(host: address.host, isEncrypted: address.isEncrypted, environment: environment)
        var found = proxy?.findings ?? []
        // Behind a proxy the name is the proxy's business.
        if proxy == nil, !Self.isLiteral(address.host) {
            let name = await lookUp(address.host)
            found += name.findings(host: address.host)
            guard case .found = name else { return found + clock(nil, address) }
        }
        guard let connection = await Self.connection(to: configuration.remote) else { return found }
        found += connection.findings
        guard connection.isConnected, configuration.remote.protocol == .filesection else {
            return found + clock(nil, address)
        }
        return found + (await ask(address))
    }

    private func clock(_ date: String?, askedAt: Int64 = 0, _ address: WebAddress) -> [Finding] {
        let time = date.flatMap(HTTPDate.secondsSince1970)
        return ClockFacts(serverTime: time, askedAt: askedAt, isEncrypted: address.isEncrypted).findings
    }

    private static func isLiteral(_ host: String) -> Bool {
        host.contains(":") || host.split(separator: ".").allSatisfy { UInt8($0) != nil }
    }

    // MARK: Name

    private func lookUp(_ host: String) async -> NameFacts {
        await TimeLimit.run("doctor-dns", Self.limit) { Self.addresses(of: host) } ?? .late
    }

    /// man 3 getaddrinfo.
    private static func addresses(of host: String) -> NameFacts {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let failure = getaddrinfo(host, nil, &hints, &list)
        guard failure == 0 else { return .failed(String(cString: gai_strerror(failure))) }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var next = list
        while let entry = next?.pointee {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            if getnameinfo(
                entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
            {
                let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                if !addresses.contains(address) { addresses.append(address) }
            }
            next = entry.ai_next
        }
        return .found(addresses)
    }

    // MARK: Connection

    /// Connects to a server, does the TLS handshake and sends nothing.
    ///
    /// - Returns: nil where its URL is none.
    static func connection(to remote: Configuration.Remote) async -> ConnectionFacts? {
        guard let address = try? WebAddress(remote.url) else { return nil }
        let outcome = await TimeLimit.run("server-connect", limit + .seconds(1)) { () -> ConnectionFacts.Outcome in
            do throws(TransportError) {
                return .connected(
                    try ConnectionProbe.connect(to: remote.url, caFile: remote.caFile, timeout: limit))
            } catch {
                return .failed(error)
            }
        }
        return ConnectionFacts(
            server: address.authority, isEncrypted: address.isEncrypted, outcome: outcome ?? .late,
            now: wallTimeMilliseconds() / 1000)
    }

    // MARK: Answer

    /// Asks whether no files at all are finished: the one question of the protocol that names nothing, so that no
    /// server, whatever it is, has anything to change for it. A server that answers it is asked about the header of
    /// fragments as well.
    private func ask(_ address: WebAddress) async -> [Finding] {
        let begun = bootTimeNanoseconds()
        let result = await send(
            "isFinish.do", type: "application/json", body: #"{"fileIds":[]}"#)
        let milliseconds = Int64((bootTimeNanoseconds() - begun) / 1_000_000)
        var facts = ServerFacts(
            url: configuration.remote.url, outcome: .failed("no answer within 10 s"),
            tokenSource: configuration.remote.allowsToken ? token.source : nil)
        switch result {
        case .success(let reply):
            facts.outcome = .answered(.init(reply, milliseconds: milliseconds))
            let now = wallTimeMilliseconds() / 1000
            let header = facts.findings.allSatisfy { $0.level == .ok } ? await fragmentHeader() : []
            return facts.findings + header + clock(reply.headers["Date"], askedAt: now, address)
        case .failure(.replyTimeout), .failure(.cancelled): break
        case .failure(let error): facts.outcome = .failed("\(error)")
        }
        return facts.findings + clock(nil, address)
    }

    /// Sends a fragment of an upload that does not exist.
    private func fragmentHeader() async -> [Finding] {
        guard let with = await sendFragment(withHeader: true) else { return [] }
        var facts = FragmentHeaderFacts(with: with)
        if facts.needsComparison { facts.without = await sendFragment(withHeader: false) }
        return facts.findings
    }

    private func sendFragment(withHeader: Bool) async -> ServerFacts.Answer? {
        let id = FragmentHeaderFacts.id
        let block = #"[{"id":"\#(id)","totalSize":1,"blockTotal":1,"blockNo":1}]"#
        let body = """
            --\(id)\r
            Content-Disposition: form-data; name="sectionFile"; filename="\(id)-0.bin"\r
            Content-Type: application/octet-stream\r
            \r
            x\r
            --\(id)--\r

            """
        let result = await send(
            "upload.do", type: "multipart/form-data; boundary=\(id)", body: body,
            headers: withHeader ? [(name: "file_block", value: block)] : [])
        guard case .success(let reply) = result else { return nil }
        return ServerFacts.Answer(reply, milliseconds: 0)
    }

    private func send(
        _ endpoint: String, type: String, body: String, headers: [(name: String, value: String)] = []
    ) async -> Result<HTTPReply, TransportError> {
        var request = HTTPRequest(
            method: "POST", url: configuration.remote.url + "/fileSection/" + endpoint,
            headers: [(name: "Content-Type", value: type)] + headers, body: .bytes(Array(body.utf8)))
        let credentials = Credentials(
            environmentToken: environment["OUTBOX_TOKEN"], tokenFile: configuration.remote.tokenFile,
            stateDirectory: configuration.state)
        let guarded = GuardedCredentials(credentials, mayTravel: configuration.remote.allowsToken)
        let found = await TimeLimit.run("doctor-token", Self.limit) { guarded.bearerToken() }
        if let token = found ?? nil {
            request.headers.append((name: "Authorization", value: "Bearer \(token)"))
        }
        do throws(CurlTransport.StartError) {
            let transport = try CurlTransport(
                configuration: .init(
                    connectTimeout: Self.limit, stallTimeout: Self.limit, replyTimeout: Self.limit,
                    caFile: configuration.remote.caFile, userAgent: "outbox/\(version)"))
            let question = request
            let reply = await TimeLimit.wait(Self.limit + .seconds(1)) { () -> Result<HTTPReply, TransportError> in
                do throws(TransportError) {
                    return .success(try await transport.send(question))
                } catch {
                    return .failure(error)
                }
            }
            // Not waited for: it must not keep the cooperative pool's thread.
            startThread(name: "doctor-curl-end") { transport.shutdown() }
            return reply ?? .failure(.cancelled)
        } catch {
            return .failure(.other("\(error)"))
        }
    }
}

extension ServerFacts.Answer {
    private struct Envelope: Decodable {
        struct Anything: Decodable {}
        var code: Int?
        var message: String?
        var data: Anything?
    }

    init(_ reply: HTTPReply, milliseconds: Int64) {
        let envelope = try? JSONDecoder().decode(Envelope.self, from: Data(reply.body))
        let type = reply.headers["Content-Type"]?.lowercased() ?? ""
        self.init(
            status: reply.status, isEnvelope: envelope?.code != nil || envelope?.data != nil, code: envelope?.code,
            message: envelope?.message, location: reply.headers["Location"], isHTML: type.hasPrefix("text/html"),
            milliseconds: milliseconds)
    }
}

extension ConnectionReport {
    /// When the certificate ends, seconds since 1970.
    var certificateExpiry: Int64? {
        // `Nov 21 15:00:00 2026 GMT`, with a blank more before a day of one digit (man 3 ASN1_TIME_print).
        let parts = (certificateEnd ?? "").split(separator: " ")
        guard parts.count == 5 else { return nil }
        return HTTPDate.secondsSince1970("Day, \(parts[1]) \(parts[0]) \(parts[3]) \(parts[2]) GMT")
    }
}
