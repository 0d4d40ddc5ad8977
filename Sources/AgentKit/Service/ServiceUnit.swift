/// The unit that runs the agent of one configuration, and its text.
public struct ServiceUnit: Sendable {
    /// The first line of every unit that was written here; without it a file is somebody else's and left alone.
    public static let marker =
        "# Written by `outbox service install`, which replaces it; `outbox service uninstall` removes it."

    /// The unit's name, without `.service`.
    public let name: String
    /// Whose service manager runs it.
    public let scope: ServiceScope
    /// The whole file.
    public let text: String
    /// What must be there before the service starts.
    public let directories: [String]

    /// Puts the unit together.
    ///
    /// - Parameters:
    ///   - name: see ``ServiceName``.
    ///   - program: the bytes of the absolute path of `outbox`.
    ///   - file: the configuration, an absolute path; nil: none, the service looks for one at each start.
    ///   - configuration: what is in force.
    ///   - scope: whose service manager runs it.
    ///   - runtimeDirectory: `$XDG_RUNTIME_DIR` of the user whose service manager it is.
    ///   - isConfined: whether a user unit takes what only some service managers can give, see ``confinement``. A system
    ///     unit always does.
    /// - Throws: `ServiceError` for a path that systemd can't be told.
    public init(
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
        if isSystem { lines += try Self.order(after: [file, configuration.state].compactMap(\.self)) }
        lines += ["# A machine that is left alone must not give up.", "StartLimitIntervalSec=0", "", "[Service]"]
        lines += Self.process(command: command, scope: scope)
        lines += [""] + (try Self.files(sandbox, isSystem: isSystem))
        lines += [""] + Self.kernel + (isSystem || isConfined ? Self.confinement : []) + ["", "[Install]"]
        lines.append("WantedBy=" + (isSystem ? "multi-user.target" : "default.target"))
        text = lines.joined(separator: "\n") + "\n"
    }

    /// The outbox is not among them: it may be on a disk that comes and goes, and the agent waits for it.
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
            "# Wrong usage and a wrong configuration stay wrong until somebody mends them.",
            "RestartPreventExitStatus=64 78",
            "# Longer starts ask for more; an end takes 5 s at most.",
            "TimeoutStartSec=5min", "TimeoutStopSec=20", "WatchdogSec=2min", "KillMode=mixed",
            "# A picture that takes all memory ends its worker, not the agent.",
            "OOMPolicy=continue", "LimitNOFILE=16384", "Nice=5", "IOSchedulingClass=best-effort",
            "IOSchedulingPriority=6",
        ]
    }

    private static func files(_ sandbox: ServiceSandbox, isSystem: Bool) throws(ServiceError) -> [String] {
        var lines = ["NoNewPrivileges=yes", "ProtectSystem=strict"]
        for path in sandbox.writable { lines.append("ReadWritePaths=" + (try UnitText.path(path, prefix: "-"))) }
        // Hidden, /run/user would take a user's service manager and its notification socket along.
        lines.append("ProtectHome=" + (isSystem && sandbox.hidesHomes ? "yes" : "read-only"))
        if sandbox.hasPrivateTemporary { lines.append("PrivateTmp=yes") }
        return lines + ["ProtectKernelTunables=yes", "ProtectControlGroups=yes"]
    }

    private static let kernel = [
        "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK", "RestrictNamespaces=yes", "RestrictRealtime=yes",
        "RestrictSUIDSGID=yes", "LockPersonality=yes", "MemoryDenyWriteExecute=yes", "SystemCallArchitectures=native",
        "SystemCallFilter=@system-service", "SystemCallFilter=~@privileged",
        "# What decodes pictures and videos shuts itself in with these.",
        "SystemCallFilter=seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self",
        "SystemCallErrorNumber=EPERM",
    ]

    /// The settings that take capabilities. A user's service manager has them in a user namespace only. Where the kernel
    /// or the distribution forbids that, as Ubuntu 24.04 does, the service would not even start, but end with
    /// 217/USER, 218/CAPABILITIES or 226/NAMESPACE.
    static let confinement = [
        "CapabilityBoundingSet=", "PrivateDevices=yes", "PrivateMounts=yes", "PrivateUsers=yes",
        "ProtectKernelModules=yes",
        "ProtectKernelLogs=yes", "ProtectClock=yes", "ProtectHostname=yes", "ProtectProc=invisible",
    ]
}
