import AgentConfiguration
import CLinux
import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

extension KernelFacts {
    /// Queries the kernel.
    init(probing: Void) {
        release = ProcFile.text("/proc/sys/kernel/osrelease")?.split(separator: "\n").first.map(String.init)
        hasProc = ProcFile.exists("/proc/self/fd")
        openat2 = Self.tryOpenat2()
    }

    private static func tryOpenat2() -> Openat2Obstacle? {
        do throws(Errno) {
            _ = try Directory(path: "/").open([], flags: O_PATH)
            return nil
        } catch {
            return error == .noFunction ? .unknown : .forbidden("\(error)")
        }
    }
}

extension LeaseFacts {
    /// Tries a lease on an unnamed file, which no process can see and the kernel removes (man 2 open, O_TMPFILE).
    init(probing directory: String) {
        let flags = outbox_o_tmpfile | O_WRONLY
        guard let file = try? SharedDescriptor(opening: directory, flags: flags, mode: 0o600),
            let reader = try? SharedDescriptor(opening: "/proc/self/fd/\(file.rawValue)", flags: O_RDONLY)
        else {
            self = .untried
            return
        }
        self = withExtendedLifetime(file) { Self.lease(on: reader) }
    }

    /// Requests a read lease while a writer has the file open. A file system with leases returns EAGAIN, others
    /// another error.
    private static func lease(on reader: SharedDescriptor) -> Self {
        _ = outbox_fcntl(reader.rawValue, outbox_f_setsig, SIGURG)
        guard outbox_set_lease(reader.rawValue, outbox_f_rdlck) != 0 else {
            return .refused("they do not reveal writers")
        }
        return errno == EAGAIN ? .work : .refused("\(Errno(rawValue: errno))")
    }
}

extension OpenFilesFacts {
    /// Reads the soft limit of the running agent, otherwise of this process.
    init(probing upload: Configuration.Upload, agent: Int32?) {
        let process = agent.map { "\($0)" } ?? "self"
        limit = ProcFile.text("/proc/\(process)/limits").flatMap(Self.limit)
        isAgents = agent != nil
        mostFragments =
            UploadLimits(
                filesInFlight: upload.filesInFlight, fragmentsInFlight: upload.fragmentsInFlight,
                retryInterval: upload.retryInterval
            ).mostFragments
    }

    /// Reads `Max open files  1024  524288  files` (man 5 proc_pid_limits); nil: unlimited or unknown.
    static func limit(in text: String) -> Int? {
        let name = "Max open files"
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.dropFirst(name.count).split(separator: " ").first.flatMap { Int($0) }
    }
}

extension ClockFacts {
    /// Reads this machine's clock.
    ///
    /// - Parameters:
    ///   - serverTime: The server's time in seconds since 1970, when this machine's clock showed `askedAt`.
    init(serverTime: Int64?, askedAt: Int64, isEncrypted: Bool) {
        now = wallTimeMilliseconds() / 1000
        let state = outbox_clock_is_synchronised()
        isSynchronised = state < 0 ? nil : state == 1
        aheadOfServer = serverTime.map { askedAt - $0 }
        self.isEncrypted = isEncrypted
    }
}
