/// Kernel features that the agent needs.
struct KernelFacts: Equatable, Sendable {
    /// The output of `uname -r`; nil if unreadable.
    var release: String?
    /// Whether /proc is mounted.
    var hasProc: Bool
    /// Why openat2(2) fails; nil if it works.
    var openat2: Openat2Obstacle?

    enum Openat2Obstacle: Equatable, Sendable {
        /// ENOSYS: the kernel is older than 5.6.
        case unknown
        /// EPERM or another error: a seccomp filter does not know the call.
        case forbidden(String)
    }

    var findings: [Finding] {
        var found: [Finding] = []
        if !hasProc {
            found.append(
                Finding(
                    .kernel, .stop, "/proc is not mounted; without it, files can't be watched and opened",
                    remedy: "sudo mount -t proc proc /proc"))
        }
        let version = release.map { "Linux \($0)" } ?? "this kernel"
        switch openat2 {
        case nil: break
        case .unknown:
            found.append(
                Finding(
                    .kernel, .stop, "\(version) does not know openat2(2), which came with 5.6",
                    remedy:
                        "upgrade the kernel; in a container or sandbox, allow openat2; in a unit, drop RestrictSUIDSGID="
                ))
        case .forbidden(let reason):
            found.append(
                Finding(
                    .kernel, .stop, "openat2(2) is forbidden here: \(reason)",
                    remedy:
                        "allow the system call openat2 in the sandbox's filter (Docker 20.10 or newer, runc 1.0 or newer)"
                ))
        }
        return found.isEmpty ? [Finding(.kernel, .ok, version)] : found
    }
}

/// Whether a lease detects that a writer has a file open (man 2 fcntl, F_SETLEASE).
enum LeaseFacts: Equatable, Sendable {
    case work
    case refused(String)
    /// The file system offers no way to try a lease without leaving a trace.
    case untried

    var findings: [Finding] {
        switch self {
        case .work: [Finding(.leases, .ok, "leases show whether a file is still being written")]
        case .refused(let reason):
            [
                Finding(
                    .leases, .note,
                    "no leases in the outbox (\(reason)): files found by a scan are taken once unchanged for 10 s")
            ]
        case .untried:
            [
                Finding(
                    .leases, .note,
                    "leases can't be tried here; without them files found by a scan are taken once unchanged for 10 s")
            ]
        }
    }
}

/// The limit of open files, and the number the configuration may need.
struct OpenFilesFacts: Equatable, Sendable {
    /// RLIMIT_NOFILE, the soft limit; nil: unlimited.
    var limit: Int?
    /// Whether the limit is the running agent's, not this process's.
    var isAgents = false
    /// The maximum number of fragments in flight over all files.
    var mostFragments: Int

    /// Files the agent has open before it sends anything, with a reserve.
    static let base = 64

    /// Each fragment in flight needs a connection, and at most one open file.
    var needed: Int { Self.base + 2 * mostFragments }

    var findings: [Finding] {
        let whose = isAgents ? "the agent" : "a process"
        guard let limit, limit < needed else {
            let text = limit.map { "up to \($0) for \(whose)" } ?? "no limit"
            return [Finding(.openFiles, .ok, "\(text), \(needed) needed")]
        }
        let message =
            "up to \(limit) for \(whose), and \(mostFragments) fragments in flight need \(needed)"
        return [
            Finding(
                .openFiles, limit < Self.base ? .stop : .warning, message,
                remedy:
                    "raise it (`ulimit -n 1024`; LimitNOFILE=1024 in a service), or lower upload.fragments_in_flight")
        ]
    }
}
