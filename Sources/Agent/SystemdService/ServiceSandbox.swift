import AgentConfiguration

/// The service's sandbox: the paths a configuration needs, and the restrictions on all others.
struct ServiceSandbox: Sendable {
    /// Directories created at installation, because the agent can't create them in a read-only file system.
    let directories: [String]
    /// Writable paths, sorted; none lies inside another.
    let writable: [String]
    /// Whether home directories can be hidden, because the agent uses none.
    let hidesHomes: Bool
    /// Whether the service can have a private `/tmp` and `/var/tmp`.
    let hasPrivateTemporary: Bool

    /// Mount points of removable media. For a path below one of these, the whole mount point becomes writable. systemd
    /// turns each writable path into a mount of its own. Such a mount inside a disk would keep the disk in use after
    /// it is unmounted: the service would continue with the detached disk and never notice.
    private static let mediaRoots = ["/media", "/mnt", "/run/media"]
    private static let homes = ["/home", "/root", "/run/user"]
    private static let temporary = ["/tmp", "/var/tmp"]

    /// - Parameters:
    ///   - configuration: The agent's configuration.
    ///   - files: Further files the agent must be able to read: the program and the configuration.
    ///   - runtimeDirectory: The service's `$XDG_RUNTIME_DIR`.
    init(_ configuration: Configuration, files: [String], runtimeDirectory: String?) {
        let socket = configuration.controlSocket(runtimeDirectory: runtimeDirectory)
        let socketDirectory = PathResolver.normalise(socket + "/..")
        directories =
            [configuration.outbox, configuration.state, configuration.avatars]
            + [configuration.sidecars.directory].compactMap(\.self) + [socketDirectory]
        let roots = directories.map { path in
            Self.mediaRoots.first { PathResolver.lies(path, in: $0) } ?? path
        }
        writable = Set(roots).filter { path in
            !roots.contains { $0 != path && PathResolver.lies(path, in: $0) }
        }
        .sorted()
        let remote = configuration.remote
        let read =
            files
            + [remote.tokenFile, remote.caFile, remote.accessKeyFile, remote.secretKeyFile].compactMap(\.self)
            + [configuration.avatarCache.placeholder, configuration.control.metricsTokenFile].compactMap(\.self)
        let all = directories + read
        hidesHomes = !all.contains { path in Self.homes.contains { PathResolver.lies(path, in: $0) } }
        hasPrivateTemporary = !all.contains { path in Self.temporary.contains { PathResolver.lies(path, in: $0) } }
    }
}
