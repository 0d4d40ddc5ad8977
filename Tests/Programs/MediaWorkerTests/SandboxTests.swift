import CSandbox
import Glibc
import Testing

/// What a process may still do inside the sandbox, tried in a child process.
@Suite("The worker's sandbox")
struct SandboxTests {
    /// Runs `attempt` in a sandboxed child process.
    ///
    /// - Returns: the child's exit status: the result of `attempt`, 125 if the kernel has no filters, or 128 plus the
    ///   signal that ended the child.
    private func lockedIn(_ attempt: () -> Int32) throws -> Int32 {
        // Swift hides fork, because only async-signal-safe calls may follow in a child of a process with threads.
        let fork = unsafeBitCast(
            try #require(dlsym(nil, "fork")), to: (@convention(c) () -> pid_t).self)
        let pid = fork()
        if pid == 0 {
            guard outbox_gain_no_privileges() == 0, outbox_forbid_calls() == 0 else { _exit(125) }
            _exit(attempt())
        }
        try #require(pid > 0)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }

    private func expect(_ status: Int32, _ attempt: () -> Int32) throws {
        let found = try lockedIn(attempt)
        if found != 125 { #expect(found == status) }
    }

    @Test("allows fstat of a descriptor")
    func descriptor() throws {
        let file = open("/dev/null", O_RDONLY)
        defer { close(file) }
        try expect(0) {
            var status = stat()
            guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFCHR else { return errno }
            return fstatat(file, "", &status, AT_EMPTY_PATH) == 0 ? 0 : errno
        }
    }

    @Test("forbids stat of a path with any flags", arguments: [0, AT_EMPTY_PATH])
    func path(flags: Int32) throws {
        try expect(EPERM) {
            var status = stat()
            return fstatat(AT_FDCWD, "/etc/passwd", &status, flags) == 0 ? 0 : errno
        }
        // If statx is missing, glibc may use the call above instead.
        let statx = unsafeBitCast(
            try #require(dlsym(nil, "statx")),
            to: (@convention(c) (Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer) -> Int32).self)
        let result = try lockedIn {
            withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { status in
                guard let start = status.baseAddress else { return ENOMEM }
                return statx(AT_FDCWD, "/etc/passwd", flags, 0x7FF, start) == 0 ? 0 : errno
            }
        }
        #expect([EPERM, ENOSYS, 125].contains(result))
    }

    @Test("allows threads but no processes")
    func processes() throws {
        let fork = unsafeBitCast(
            try #require(dlsym(nil, "fork")), to: (@convention(c) () -> pid_t).self)
        try expect(EPERM) { fork() < 0 ? errno : 0 }
    }
}
