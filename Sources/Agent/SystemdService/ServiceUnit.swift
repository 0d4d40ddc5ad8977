import LinuxSystem
package import AgentConfiguration

/// The unit that runs the agent of one configuration, and its text.
package struct ServiceUnit: Sendable {
    /// The first line of every unit file written by `outbox`. A file without this line is foreign and stays untouched.
    static let marker =
        "# Written by `outbox service install`, which replaces it; `outbox service uninstall` removes it."

    /// The unit's name, without `.service`.
    package let name: String
    /// The service manager that runs the unit.
    let scope: ServiceScope
    /// The text of the unit file.
    package let text: String
    /// Directories that must exist before the service starts.
    let directories: [String]

    /// Composes the unit.
    ///
    /// - Parameters:
    ///   - name: The unit's name, see ``ServiceName``.
    ///   - program: Absolute path of `outbox`, as bytes.
    ///   - file: Absolute path of the configuration. If nil, the service looks for one at each start.
    ///   - configuration: The configuration in force.
    ///   - scope: The service manager that runs the unit.
    ///   - runtimeDirectory: `$XDG_RUNTIME_DIR` of the user whose service manager runs the unit.
    ///   - isConfined: Whether a user unit gets the settings in ``confinement``, which not every service manager
    ///     supports. A system unit always gets them.
    /// - Throws: `ServiceError` for a path that systemd can't express.
    package init(
        name: String, program: [UInt8], file: String?, configuration: Configuration, scope: ServiceScope,
        runtimeDirectory: String? = nil, isConfined: Bool = false
    ) throws(ServiceError) {
        self.name = name
        self.scope = scope
        let isSystem = scope != .user
        let sandbox = ServiceSandbox(
            configuration, files: [String(decoding: program, as: UTF8.self)] + [file].compactMap(\.self),
            runtimeDirectory: isSystem ? nil : runtimeDirectory)
        directories = sandbox.directories
        let command =
            try UnitText.program(program) + " run"
            + (file.map { " --config " + UnitText.argument(Array($0.utf8)) } ?? "")
        let edit = isSystem ? "systemctl edit" : "systemctl --user edit"
        var lines = [Self.marker, "# For settings of your own: `\(edit) \(name)`.", "", "[Unit]"]
        lines.append("Description=Outbox upload agent (\(UnitText.prose(file ?? "no configuration file")))")
        lines.append("Documentation=man:outbox(1) man:agent.toml(5)")
        if isSystem { lines += try Self.order(after: [file, configuration.state].compactMap(\.self)) }
        lines += ["# An unattended machine must keep trying.", "StartLimitIntervalSec=0", "", "[Service]"]
        lines += Self.process(command: command, scope: scope)
        lines += [""] + (try Self.files(sandbox, isSystem: isSystem))
        lines += [""] + Self.kernel + (isSystem || isConfined ? Self.confinement : []) + ["", "[Install]"]
        lines.append("WantedBy=" + (isSystem ? "multi-user.target" : "default.target"))
        text = lines.joined(separator: "\n") + "\n"
    }

    /// Excludes the outbox: its disk may come and go, and the agent waits for it.
    private static func order(after paths: [String]) throws(ServiceError) -> [String] {
        var words: [String] = []
        for path in paths { words.append(try UnitText.path(path)) }
        return ["After=network.target remote-fs.target", "RequiresMountsFor=" + words.joined(separator: " ")]
    }

    private static func process(command: String, scope: ServiceScope) -> [String] {
        var lines = [
            "Type=notify", "NotifyAccess=main", "ExecStart=" + command, "ExecReload=/bin/kill -HUP $MAINPID",
            "WorkingDirectory=/",
        ]
        if case .system(let account) = scope {
            lines.append("User=" + UnitText.prose(account.name))
        } else {
            lines.append("Slice=background.slice")
        }
        return lines + [
            "Restart=on-failure", "RestartSec=10",
            "# After wrong usage or a wrong configuration, a restart would not help.",
            "RestartPreventExitStatus=64 78",
            "# A longer start asks for more time. A stop takes 5 s, with a hanging disk 15 s.",
            "TimeoutStartSec=5min", "TimeoutStopSec=20", "WatchdogSec=2min", "KillMode=mixed",
            "# If a picture takes all memory, its worker ends, not the agent.",
            "OOMPolicy=continue", "LimitNOFILE=16384", "Nice=5", "IOSchedulingClass=best-effort",
            "IOSchedulingPriority=6",
        ]
    }

    private static func files(_ sandbox: ServiceSandbox, isSystem: Bool) throws(ServiceError) -> [String] {
        var lines = ["NoNewPrivileges=yes", "ProtectSystem=strict"]
        for path in sandbox.writable { lines.append("ReadWritePaths=" + (try UnitText.path(path, prefix: "-"))) }
        // A hidden /run/user would also hide a user's service manager and its notification socket.
        lines.append("ProtectHome=" + (isSystem && sandbox.hidesHomes ? "yes" : "read-only"))
        if sandbox.hasPrivateTemporary { lines.append("PrivateTmp=yes") }
        return lines + ["ProtectKernelTunables=yes", "ProtectControlGroups=yes"]
    }

    private static let kernel = [
        "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK", "RestrictNamespaces=yes", "RestrictRealtime=yes",
        "# No RestrictSUIDSGID=: it forbids openat2(2), with which the agent opens every file.",
        "LockPersonality=yes", "MemoryDenyWriteExecute=yes", "SystemCallArchitectures=native",
        "SystemCallFilter=@system-service", "SystemCallFilter=~@privileged",
        "# The programs that decode pictures and videos lock themselves in with these.",
        "SystemCallFilter=seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self",
        "SystemCallErrorNumber=EPERM",
    ]

    /// Settings that need capabilities. A user's service manager has capabilities only in a user namespace. If the
    /// kernel or the distribution forbids user namespaces, as Ubuntu 24.04 does, the service would fail to start, with
    /// 217/USER, 218/CAPABILITIES or 226/NAMESPACE.
    static let confinement = [
        "CapabilityBoundingSet=", "PrivateDevices=yes", "PrivateMounts=yes", "PrivateUsers=yes",
        "ProtectKernelModules=yes",
        "ProtectKernelLogs=yes", "ProtectClock=yes", "ProtectHostname=yes", "ProtectProc=invisible",
    ]
}
