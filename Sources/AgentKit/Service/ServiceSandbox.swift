/// What the service may touch: the paths that a configuration names, and how far the rest is locked away.
struct ServiceSandbox: Sendable {
    /// Directories that are made at installation: below a file system that is read-only the agent could not.
    let directories: [String]
    /// What must be writable, sorted, nothing below anything else.
    let writable: [String]
    /// Whether nothing of the agent is in a home directory.
    let hidesHomes: Bool
    /// Whether `/tmp` and `/var/tmp` can be the service's own.
    let hasPrivateTemporary: Bool

    /// Where media are mounted. A path below is given as the whole of it: what systemd makes writable becomes a mount of
    /// its own, and one inside a disk would keep the disk from going away when it is unmounted. The service would go on
    /// with it, and never notice.
    private static let mediaRoots = ["/media", "/mnt", "/run/media"]
    private static let homes = ["/home", "/root", "/run/user"]
    private static let temporary = ["/tmp", "/var/tmp"]

    /// - Parameters:
    ///   - configuration: what the agent will run with.
    ///   - files: what it must be able to read besides: the program, the configuration.
    ///   - runtimeDirectory: `$XDG_RUNTIME_DIR` as the service will have it.
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
            + [configuration.avatarCache.placeholder].compactMap(\.self)
        let all = directories + read
        hidesHomes = !all.contains { path in Self.homes.contains { PathResolver.lies(path, in: $0) } }
        hasPrivateTemporary = !all.contains { path in Self.temporary.contains { PathResolver.lies(path, in: $0) } }
    }
}
