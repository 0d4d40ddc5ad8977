import CLinux
import Foundation
import Glibc
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@testable import Processes

@Suite("A process under limits")
struct LimitedProcessTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func shell(
        _ script: String, limits: ProcessLimits = .roomy, confinement: Confinement? = nil,
        within time: Duration = .seconds(60), longestOutput: Int = 1 << 16
    ) async throws -> String {
        let output = try await ToolRun.run(
            "/bin/sh", ["-c", script], input: nullDevice(), limits: limits, confinement: confinement, within: time,
            longestOutput: longestOutput)
        return String(decoding: output, as: UTF8.self)
    }

    @Test func `what it writes is handed over`() async throws {
        #expect(try await shell("echo one; echo two") == "one\ntwo\n")
    }

    @Test(.enabled(if: access("/proc/self/autogroup", F_OK) == 0, "the kernel does not group sessions"))
    func `its session yields to others, not only the process`() async throws {
        // The kernel refuses unprivileged changes that follow within 100 ms.
        try await Poll.until("the session to be nice") {
            try await shell("cat /proc/self/autogroup", limits: ProcessLimits(openFiles: nil, niceness: 10))
                .contains("nice 10")
        }
        #expect(
            try await shell("cat /proc/self/autogroup", limits: ProcessLimits(openFiles: nil, niceness: 0))
                .contains("nice 0"))
    }

    @Test func `its exit code and the last line of its errors are told`() async throws {
        await #expect(throws: ToolFailure.ended(.exited(3), "second")) {
            try await shell("echo first >&2; echo second >&2; exit 3")
        }
    }

    @Test func `it gets nothing of this process's environment`() async throws {
        setenv("OUTBOX_TOKEN", "secret", 1)
        let environment = try await shell("/usr/bin/env").split(separator: "\n").map { $0.prefix { $0 != "=" } }
        #expect(Set(environment).subtracting(["PWD", "SHLVL", "OLDPWD", "_"]) == ["LC_ALL", "PATH", "TZ"])
    }

    @Test func `it gets no descriptor but its own, not even one that is not close-on-exec`() async throws {
        let leak = open("/dev/null", O_RDONLY)
        defer { close(leak) }
        // Descriptor 3 is the directory that ls itself reads.
        #expect(try await shell("exec ls /proc/self/fd") == "0\n1\n2\n3\n")
    }

    @Test func `on older kernels descriptors are made close-on-exec one by one`() throws {
        // More entries than one call of getdents returns.
        let leaks = (0..<200).map { _ in open("/dev/null", O_RDONLY) }
        defer { for leak in leaks { close(leak) } }
        #expect(outbox_close_listed_on_exec(try #require(leaks.min())) == 0)
        for leak in leaks { #expect(outbox_fcntl(leak, F_GETFD, 0) & FD_CLOEXEC != 0) }
    }

    @Test func `it runs in the root directory, in a session of its own, and gains no rights`() async throws {
        let lines = try await shell(
            "pwd; cut -d ' ' -f 6 /proc/self/stat; echo $$; grep NoNewPrivs /proc/self/status; ulimit -c"
        ).split(separator: "\n")
        try #require(lines.count == 5)
        #expect(lines[0] == "/")
        #expect(lines[1] == lines[2])
        #expect(lines[3].hasSuffix("1"))
        #expect(lines[4] == "0")
    }

    @Test func `signals that this process blocks or ignores are neither in it`() async throws {
        let masks = try await shell("grep -E 'SigBlk|SigIgn' /proc/self/status")
        #expect(masks == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n")
    }

    @Test func `it is ended when it takes too much processor time`() async throws {
        var limits = ProcessLimits.roomy
        limits.processorSeconds = 1
        await #expect {
            try await shell("while :; do :; done", limits: limits)
        } throws: { error in
            [.ended(.killed(SIGKILL), ""), .ended(.killed(SIGXCPU), "")].contains(error as? ToolFailure)
        }
    }

    @Test func `it can't write a longer file than it may`() async throws {
        var limits = ProcessLimits.roomy
        limits.fileSize = 100_000
        let path = directory.path("long")
        await #expect(throws: ToolFailure.self) {
            try await shell("exec dd if=/dev/zero of=\(path) bs=1000 count=500 2>/dev/null", limits: limits)
        }
        #expect(try FileStatus(path: path).size == 100_000)
    }

    @Test func `it can't have more memory than it may`() async throws {
        var limits = ProcessLimits.roomy
        limits.addressSpace = 200 << 20
        let taking = "python3 -c 'print(len(bytes(300 << 20)))'"
        await #expect(throws: ToolFailure.ended(.exited(1), "MemoryError")) { try await shell(taking, limits: limits) }
        #expect(try await shell(taking) == "\(300 << 20)\n")
    }

    @Test func `it is killed with all that it started when it takes too long`() async throws {
        let note = directory.path("child")
        await #expect(throws: ToolFailure.killed("sh took over 8 s and was killed")) {
            // Enough time for the shell to start and to write the note.
            try await shell("sleep 1000 & echo $! > \(note); wait", within: .seconds(8))
        }
        let child = try #require(pid_t(directory.text("child").trimmingCharacters(in: .whitespacesAndNewlines)))
        try await Poll.until("the grandchild is gone") { !Self.isRunning(child) }
    }

    @Test func `what it leaves behind when it ends is killed, and holds nobody up`() async throws {
        let output = try await shell("sleep 1000 & echo $!")
        let child = try #require(pid_t(output.trimmingCharacters(in: .whitespacesAndNewlines)))
        try await Poll.until("the grandchild is gone") { !Self.isRunning(child) }
    }

    @Test func `it is killed when it says too much`() async throws {
        await #expect(throws: ToolFailure.killed("sh printed more than 1000 bytes and was killed")) {
            try await shell("while :; do echo and on and on; done", longestOutput: 1000)
        }
    }

    @Test func `it is killed when the task is cancelled`() async throws {
        let note = directory.path("pid")
        let task = Task { try await shell("echo $$ > \(note); exec sleep 1000") }
        let pid = try await Poll.value("its process id") {
            pid_t(directory.text("pid").trimmingCharacters(in: .whitespacesAndNewlines))
        }
        task.cancel()
        await #expect(throws: ToolFailure.cancelled) { try await task.value }
        #expect(!Self.exists(pid))
    }

    @Test func `a program without limits has those of this process`() async throws {
        func lines(_ limits: String) -> [Substring] {
            limits.split(separator: "\n").filter { line in
                ["Max address space", "Max file size", "Max cpu time"].contains { line.hasPrefix($0) }
            }
        }
        let own = try String(contentsOfFile: "/proc/self/limits", encoding: .utf8)
        let given = try await shell("exec cat /proc/self/limits", limits: ProcessLimits())
        #expect(lines(given) == lines(own))
        #expect(lines(own).count == 3)
    }

    @Test func `it is reaped`() async throws {
        let pid = try await shell("echo $$").trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(!FileManager.default.fileExists(atPath: "/proc/\(pid)"))
    }

    @Test func `a program that is missing is told from a machine that can't`() async throws {
        let command = ProcessCommand(
            program: "/nowhere/program", arguments: [], descriptors: [try nullDevice()], limits: .roomy)
        #expect {
            _ = try LimitedProcess(command)
        } throws: { error in
            let failure = error as? StartFailure
            return failure?.isProgramsFault == true && failure?.description.contains("/nowhere/program") == true
        }
    }

    @Test func `it ends with the thread that started it`() async throws {
        let pid = await withCheckedContinuation { continuation in
            startThread(name: "short") {
                let input = try? nullDevice()
                let command = ProcessCommand(
                    program: "/bin/sleep", arguments: ["1000"], descriptors: input.map { [$0, $0, $0] } ?? [],
                    limits: .roomy)
                // The retained object keeps the process from being killed.
                let process = try? LimitedProcess(command)
                let kept = process.map { Unmanaged.passRetained($0) }
                continuation.resume(returning: kept?.takeUnretainedValue().pid)
            }
        }
        let child = try #require(pid)
        try await Poll.until("it is gone") { !Self.isRunning(child) }
        waitpid(child, nil, 0)
    }

    @Test func `a confined one reads only what it was given, and writes nothing`() async throws {
        try #require(outbox_landlock_version() > 0, "this kernel has no Landlock")
        let given = try directory.file("given", "given")
        let other = try directory.file("other", "other")
        let confinement = Confinement(program: "/bin/sh", readable: [try opened(given)])
        #expect(try await shell("exec cat \(given)", confinement: confinement) == "given")
        await #expect(throws: ToolFailure.ended(.exited(1), "cat: \(other): Permission denied")) {
            try await shell("exec cat \(other)", confinement: confinement)
        }
        await #expect(throws: ToolFailure.self) {
            try await shell("echo > \(directory.path("new"))", confinement: confinement)
        }
        #expect(!FileManager.default.fileExists(atPath: directory.path("new")))
    }

    @Test func `a confined one writes to a file that it was given for that, and to its descriptors`() async throws {
        let path = try directory.file("given", "longer than the new text")
        let given = try SharedDescriptor(opening: path, flags: O_RDWR)
        let heard = Mutex<[UInt8]>([])
        _ = try await ToolRun.run(
            "/bin/sh", ["-c", "echo new > /proc/self/fd/3; exec cat /proc/self/fd/3"], input: nullDevice(),
            files: [given],
            limits: .roomy, confinement: Confinement(program: "/bin/sh", writable: [given]), within: .seconds(60),
            onOutput: { piece in heard.withLock { $0 += piece } })
        #expect(heard.withLock { String(decoding: $0, as: UTF8.self) } == "new\n")
        #expect(directory.text("given") == "new\n")
    }

    /// Evaluates a Python expression in a confined program. Returns `done` or the name of the error.
    private func confined(_ expression: String) async throws -> String {
        let script = """
            import ctypes, errno, fcntl, os, platform, resource, socket
            other, own, file = \(getpid()), os.getpid(), os.open(__file__, os.O_RDONLY)
            def tgkill(process):
                call(234, 131, process, process, 0)
            def call(intel, arm, *arguments):
                number = intel if platform.machine() == "x86_64" else arm
                if ctypes.CDLL(None, use_errno=True).syscall(number, *arguments) != 0:
                    raise OSError(ctypes.get_errno(), "call")
            try:
                \(expression)
                print("done")
            except OSError as failure:
                print(errno.errorcode[failure.errno])
            """
        let path = try directory.file("script.py", script)
        let output = try await ToolRun.run(
            "/usr/bin/python3", ["-S", path], input: nullDevice(), limits: .roomy,
            confinement: Confinement(program: "/usr/bin/python3", readable: [try opened(path)]), within: .seconds(60))
        return String(decoding: output, as: UTF8.self)
    }

    @Test(arguments: [
        "socket.socket()", "socket.socket(socket.AF_UNIX)", "os.kill(other, 0)", "tgkill(other)",
        "resource.prlimit(other, resource.RLIMIT_NOFILE)", "fcntl.fcntl(file, fcntl.F_SETOWN, other)",
        "fcntl.fcntl(file, fcntl.F_SETSIG, 9)", "os.setpriority(os.PRIO_PROCESS, other, 19)",
        "os.sched_setaffinity(other, os.sched_getaffinity(other))",
    ])
    func `a confined one has no network and no other processes`(attempt: String) async throws {
        #expect(try await confined(attempt) == "EACCES\n")
    }

    @Test(arguments: [
        "os.fchmod(file, 0o600)", "os.chmod(__file__, 0o600)", "os.fchown(file, -1, -1)", "os.chown(__file__, -1, -1)",
        "os.lchown(__file__, -1, -1)", "os.setxattr(file, 'user.a', b'')", "os.removexattr(file, 'user.a')",
        "os.utime(file)", "os.utime(__file__)",
    ])
    func `a confined one changes no attributes of a file that it may read`(attempt: String) async throws {
        #expect(try await confined(attempt) == "EACCES\n")
    }

    @Test(arguments: [
        // A child process could leave the session and outlive the agent.
        "os.fork()", "os.posix_spawn('/bin/true', ['true'], {})",
        // The calls fork and vfork; on processors without them, clone with the same flags.
        "call(57, 220, 17)", "call(58, 220, 0x4000 | 0x100 | 17)",
        // CLONE_NEWUSER with SIGCHLD, and CLONE_NEWUSER with CLONE_THREAD, CLONE_SIGHAND and CLONE_VM. Both must fail.
        "call(56, 220, 0x10000000 | 17)", "call(56, 220, 0x20000 | 0x10000 | 0x800 | 0x100)",
        // Clears PR_SET_PDEATHSIG, which ends the program together with the agent.
        "call(157, 167, 1, 0)",
    ])
    func `a confined one starts no processes, enters no namespaces, and ends with its thread`(
        attempt: String
    ) async throws {
        #expect(try await confined(attempt) == "EACCES\n")
    }

    @Test func `a confined one starts threads, though the newer call for them is missing`() async throws {
        #expect(try await confined("call(435, 435, 0, 0)") == "ENOSYS\n")
        #expect(try await confined("import threading; one = threading.Thread(); one.start(); one.join()") == "done\n")
    }

    @Test(arguments: [
        "tgkill(own)", "resource.prlimit(0, resource.RLIMIT_NOFILE)", "resource.prlimit(own, resource.RLIMIT_NOFILE)",
        "fcntl.fcntl(file, fcntl.F_GETFL)",
    ])
    func `a confined one does as it likes with itself`(attempt: String) async throws {
        #expect(try await confined(attempt) == "done\n")
    }

    private static func exists(_ pid: pid_t) -> Bool { kill(pid, 0) == 0 }

    /// Whether the process runs. A zombie does not run.
    private static func isRunning(_ pid: pid_t) -> Bool {
        guard let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8) else { return false }
        return !status.contains("State:\tZ")
    }
}

extension ProcessLimits {
    static let roomy = ProcessLimits(addressSpace: 4 << 30, fileSize: 1 << 30)
}

private func opened(_ path: String, flags: Int32 = O_RDONLY) throws -> SharedDescriptor {
    try SharedDescriptor(opening: path, flags: flags)
}

private func nullDevice() throws -> SharedDescriptor { try opened("/dev/null", flags: O_RDWR) }
