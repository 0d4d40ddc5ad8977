package import AgentConfiguration
import LinuxSystem

/// Looks for everything that prevents uploads, and suggests remedies.
///
/// Changes nothing here, and deletes what it has the server store, where it may. Gives up on calls that hang
/// after a few seconds, and reports them.
package struct Doctor: Sendable {
    private let effective: EffectiveConfiguration
    private let environment: [String: String]
    private let home: String
    private let version: String

    /// Time limit for a file system. A share whose server is gone never answers.
    private static let fileLimit = Duration.seconds(10)
    /// Time limit for counting directories.
    private static let countLimit = Duration.seconds(3)

    /// Creates a doctor for one configuration.
    ///
    /// - Parameters:
    ///   - effective: The configuration and its origin.
    ///   - environment: The process's environment.
    ///   - home: Absolute path of the user's home directory.
    ///   - version: The version sent to the server.
    package init(effective: EffectiveConfiguration, environment: [String: String], home: String, version: String) {
        self.effective = effective
        self.environment = environment
        self.home = home
        self.version = version
    }

    private var configuration: Configuration { effective.configuration }

    /// Runs all checks. Takes about half a minute at most.
    package func examine() async -> DoctorReport {
        async let directories = directoryFindings()
        let token = await tokenFacts()
        let keys = await keyFacts()
        async let server = serverFindings(token)
        let agent = await AgentFacts.probe(configuration, environment: environment)
        async let machine = machineFindings(agent: agent.pid)
        async let service = serviceFindings(agent: agent.pid)
        async let pictures = pictureFindings()
        async let dashboard = dashboardFindings(agent)
        let hasCredential = keys.map { $0?.problem == nil } ?? (token?.source != nil)
        let credentials = agent.correct(credentialFindings(token, keys), hasCredential: hasCredential)
        let answers = agent.correct(await server, hasCredential: hasCredential)
        let own = await configurationFindings() + credentials
        let all =
            own + (await directories) + (await machine) + answers + agent.findings + (await service)
            + (await pictures) + (await dashboard)
        return DoctorReport(all, lacksAgent: agent.pid == nil)
    }

    private func configurationFindings() async -> [Finding] {
        let refusal = await TimeLimit.run("doctor-directories", Self.fileLimit) { [configuration] in
            configuration.nestingRefusal()
        }
        guard let refusal else { return [late(.configuration, "one of the agent's directories")] }
        return ConfigurationFacts(
            file: effective.file, warnings: effective.warnings, shadowed: effective.shadowed,
            refusal: refusal
        ).findings
    }

    private func tokenFacts() async -> TokenFacts? {
        await TimeLimit.run("doctor-token", Self.fileLimit) { [configuration, environment] in
            TokenFacts(probing: configuration, environment: environment)
        }
    }

    /// The access keys; nil if the protocol uses none, and at the second level if their file does not answer.
    private func keyFacts() async -> AccessKeyFacts?? {
        let remote = configuration.remote
        guard remote.protocol.usesAccessKeys else { return nil }
        return .some(
            await TimeLimit.run("doctor-keys", Self.fileLimit) { [environment] in
                AccessKeyFacts(probing: remote, environment: environment)
            })
    }

    private func credentialFindings(_ token: TokenFacts?, _ keys: AccessKeyFacts??) -> [Finding] {
        guard let keys else { return token?.findings ?? [late(.token, "the token's file")] }
        return keys?.findings ?? [late(.token, "the file of the access keys")]
    }

    private func directoryFindings() async -> [Finding] {
        let isKnown = await TimeLimit.run("doctor-known", Self.fileLimit) { [path = configuration.state] in
            ProcFile.exists(path + "/ledger.lmdb")
        }
        async let outbox = directory(configuration.outbox, .outbox) { $0.outboxFindings(isKnown: isKnown == true) }
        async let state = directory(configuration.state, .state, \.stateFindings)
        async let ledger = ledgerFindings()
        async let sidecars = sidecarFindings()
        return await outbox + state + ledger + sidecars
    }

    private func ledgerFindings() async -> [Finding] {
        let path = configuration.state
        return await TimeLimit.run("doctor-ledger", Self.fileLimit) { LedgerFacts(probing: path).findings } ?? []
    }

    private func pictureFindings() async -> [Finding] {
        async let tools = MediaToolsFacts.probe(
            environment: environment, recipes: configuration.media.recipes, limit: Self.fileLimit)
        async let mirror = directory(configuration.avatars, .avatars, \.avatarFindings)
        let current = configuration.avatars + "/current.jpg"
        let placeholder = configuration.avatarCache.placeholder
        let files = await TimeLimit.run("doctor-pictures", Self.fileLimit) {
            PlaceholderFacts(probing: placeholder).findings
                + CurrentPictureFacts(probing: current).findings(path: current)
        }
        return await tools.findings + mirror + (files ?? [])
    }

    private func sidecarFindings() async -> [Finding] {
        guard let path = configuration.sidecars.directory else { return [] }
        return await directory(path, .sidecars, \.sidecarFindings)
    }

    private func directory(
        _ path: String, _ check: Check, _ findings: @escaping @Sendable (DirectoryFacts) -> [Finding]
    ) async -> [Finding] {
        let facts = await TimeLimit.run("doctor-\(check.rawValue)", Self.fileLimit) { DirectoryFacts(probing: path) }
        return facts.map(findings) ?? [late(check, path)]
    }

    private func machineFindings(agent: Int32?) async -> [Finding] {
        async let watches = watchFindings(agent: agent)
        async let leases = leaseFindings()
        let upload = configuration.upload
        let own = await TimeLimit.run("doctor-kernel", Self.fileLimit) {
            KernelFacts(probing: ()).findings + OpenFilesFacts(probing: upload, agent: agent).findings
        }
        return (own ?? []) + (await watches) + (await leases)
    }

    /// Returns no findings if the outbox does not exist.
    private func watchFindings(agent: Int32?) async -> [Finding] {
        let outbox = configuration.outbox
        let findings = await TimeLimit.run("doctor-watches", Self.fileLimit) { () -> [Finding] in
            guard ProcFile.exists(outbox) else { return [] }
            return WatchFacts(probing: outbox, agent: agent, limit: Self.countLimit).findings
        }
        return findings ?? []
    }

    private func leaseFindings() async -> [Finding] {
        let outbox = configuration.outbox
        let findings = await TimeLimit.run("doctor-leases", Self.fileLimit) { () -> [Finding] in
            ProcFile.exists(outbox) ? LeaseFacts(probing: outbox).findings : []
        }
        return findings ?? []
    }

    private func serverFindings(_ token: TokenFacts?) async -> [Finding] {
        guard let token else { return [] }
        return await ServerProbe(
            configuration: configuration, environment: environment, token: token, version: version
        ).findings()
    }

    private func dashboardFindings(_ agent: AgentFacts) async -> [Finding] {
        guard case .healthy = agent.answer else { return [] }
        return await DashboardFacts.probe(stateDirectory: configuration.state, version: version)?.findings ?? []
    }

    private func serviceFindings(agent: Int32?) async -> [Finding] {
        let places = ServiceFacts.Places(home: home, environment: environment)
        let file = effective.file
        let facts = await TimeLimit.run("doctor-service", Self.fileLimit) {
            ServiceFacts(configurationFile: file, places: places, agent: agent)
        }
        return facts?.findings ?? [late(.service, "the unit files")]
    }

    /// The finding for a location that does not answer in time.
    private func late(_ check: Check, _ what: String) -> Finding {
        Finding(
            check, [.avatars, .sidecars, .service].contains(check) ? .warning : .stop,
            "\(what) gave no answer within 10 s: its network share is gone, or its disk is failing",
            remedy: "see `dmesg | tail` and `mount`; bring the share back or unmount it with `sudo umount -l`")
    }
}
