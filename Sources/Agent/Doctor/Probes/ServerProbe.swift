package import AgentConfiguration
import Glibc
import LinuxSystem
import Remotes
import Session
import Transport
import URLs

/// Examines the server, within a bounded time.
package struct ServerProbe: Sendable {
    let configuration: Configuration
    let environment: [String: String]
    let token: TokenFacts
    let version: String

    /// Time limit for each of: the name, the connection, the answer.
    private static let limit = Duration.seconds(10)

    /// Findings about proxy, name, connection, certificate, answer, credentials, fragment header and clock.
    func findings() async -> [Finding] {
        let url = configuration.remote.url
        guard let address = try? WebAddress(url) else { return [] }
        let proxy = ProxyFacts(url: url, environment: environment)
        var found = proxy?.findings ?? []
        // Behind a proxy, the proxy resolves the name.
        if proxy == nil, HostName.address(address.host[...]) == nil {
            let name = await lookUp(address.host)
            found += name.findings(host: address.host)
            guard case .found = name else { return found + clock(nil, address) }
        }
        guard let connection = await Self.connection(to: configuration.remote) else { return found }
        found += connection.findings
        guard connection.isConnected else { return found + clock(nil, address) }
        guard let kind = configuration.remote.kind else { return found + clock(nil, address) }
        if let probe = kind.probe { return found + (await ask(probe, address)) }
        return found + (await examine(kind, address))
    }

    /// Lets the protocol's own examiner ask the server.
    private func examine(_ kind: any RemoteKind, _ address: WebAddress) async -> [Finding] {
        let transport: CurlTransport
        do throws(CurlTransport.StartError) {
            transport = try CurlTransport(
                configuration: .init(
                    connectTimeout: Self.limit, stallTimeout: Self.limit, replyTimeout: Self.limit,
                    caFile: configuration.remote.caFile, userAgent: "outbox/\(version)"))
        } catch {
            return [Finding(.server, .stop, "\(error)")] + clock(nil, address)
        }
        let source = Credentials(configuration, environment: environment)
        let keys = FixedCredential(value: await credential(), place: source.keyPlace)
        let examiner = kind.examiner(transport: transport, credentials: keys)
        guard let examiner else { return clock(nil, address) }
        let examination = await TimeLimit.wait(Self.limit * 4) { await examiner.examine() }
        let askedAt = wallTimeMilliseconds() / 1000
        // Wait for libcurl's thread: if the program exited at the same time, both would free OpenSSL's data.
        _ = await TimeLimit.run("question-end", .seconds(2)) { transport.shutdown() }
        guard let examination else {
            let message =
                "\(configuration.remote.url) did not answer all questions within \((Self.limit * 4).components.seconds) s"
            return [Finding(.server, .stop, message, remedy: "see the server's log")] + clock(nil, address)
        }
        return examination.findings.map(Finding.init) + clock(examination.date, askedAt: askedAt, address)
    }

    /// Returns the credential that may be sent to the server; nil if there is none.
    private func credential() async -> Credential? {
        let source = Credentials(configuration, environment: environment)
        return await TimeLimit.run("doctor-credential", Self.limit) { source.credential() } ?? nil
    }

    private func clock(_ date: String?, askedAt: Int64 = 0, _ address: WebAddress) -> [Finding] {
        let time = date.flatMap(HTTPDate.secondsSince1970)
        return ClockFacts(serverTime: time, askedAt: askedAt, isEncrypted: address.isEncrypted).findings
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

    /// Connects to a server, completes the TLS handshake and sends nothing.
    ///
    /// - Returns: nil if the URL is invalid.
    package static func connection(to remote: Configuration.Remote) async -> ConnectionFacts? {
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

    /// Asks the server a question without side effects. If the server answers, also checks the fragment header.
    private func ask(_ probe: any RemoteProbe, _ address: WebAddress) async -> [Finding] {
        var sent: String?
        if case .bearer(let found) = await credential() { sent = found }
        let question = ServerQuestion(
            probe: probe, remote: configuration.remote, token: sent, version: version, limit: Self.limit)
        let answer = await question.ask()
        let askedAt = wallTimeMilliseconds() / 1000
        let facts = ServerFacts(
            url: configuration.remote.url, outcome: answer.outcome,
            tokenSource: configuration.remote.allowsToken ? token.source : nil)
        let header = facts.findings.allSatisfy { $0.level == .ok } ? await fragmentHeader(question) : []
        return facts.findings + header + clock(answer.date, askedAt: askedAt, address)
    }

    /// Sends a fragment of an upload that does not exist.
    private func fragmentHeader(_ question: ServerQuestion) async -> [Finding] {
        guard let with = await question.sendFragment(withHeader: true) else { return [] }
        var facts = FragmentHeaderFacts(with: with)
        if facts.needsComparison { facts.without = await question.sendFragment(withHeader: false) }
        return facts.findings
    }
}

/// A credential that was read once.
private struct FixedCredential: CredentialSource {
    let value: Credential?
    let place: String?
    func credential() -> Credential? { value }
}

extension Finding {
    /// Takes an observation of a protocol's examiner.
    init(_ finding: RemoteExamination.Finding) {
        let level: Level =
            switch finding.level {
            case .ok: .ok
            case .note: .note
            case .warning: .warning
            case .stop: .stop
            }
        self.init(
            finding.isAboutCredentials ? .credentials : .server, level, finding.message, remedy: finding.remedy)
    }
}
