import CLinux
import Glibc
import LinuxSystem
import SystemPackage

/// What a program of the system may reach beyond the descriptors it gets: programs and libraries to read and execute,
/// and the files named here. Nothing can be written or made, no socket can be opened, and no process started.
///
/// Two layers, each where the kernel has it: Landlock (man 7 landlock) for files, TCP and signals, and a filter of system
/// calls (man 2 seccomp) on x86-64, ARM64 and RISC-V.
struct Confinement: Sendable {
    /// The program to be run, wherever it lies.
    var program: String
    /// Open files that may be opened again by way of `/proc/self/fd`.
    var readable: [SharedDescriptor] = []

    /// Where distributions keep programs and libraries; what is missing is left out.
    private static let systemPaths = [
        "/usr", "/bin", "/lib", "/lib32", "/lib64", "/nix/store", "/etc/ld.so.cache", "/etc/ld.so.preload",
    ]

    /// The Landlock version of this kernel; 0 where it has none.
    static var landlockVersion: Int { Int(outbox_landlock_version()) }

    /// The rules, nil where the kernel has no Landlock.
    ///
    /// - Throws: ``StartFailure`` where the kernel has it and the rules can't be made.
    func ruleset() throws(StartFailure) -> SharedDescriptor? {
        let version = outbox_landlock_version()
        if version == 0 { return nil }
        do {
            let raw = try retryingOnInterrupt { outbox_landlock_ruleset(version) }
            let ruleset = SharedDescriptor(Descriptor(owning: raw))
            for path in Self.systemPaths + [program] {
                guard let file = try? SharedDescriptor(opening: path, flags: O_PATH) else { continue }
                try allow(file, in: ruleset)
            }
            for file in readable { try allow(file, in: ruleset) }
            return ruleset
        } catch {
            throw StartFailure(description: "\(program) cannot be confined: Landlock: \(error)", isProgramsFault: false)
        }
    }

    private func allow(_ file: SharedDescriptor, in ruleset: SharedDescriptor) throws(Errno) {
        let isDirectory = try FileStatus(of: file.rawValue).kind == .directory
        try retryingOnInterrupt {
            outbox_landlock_allow_reading(ruleset.rawValue, file.rawValue, isDirectory ? 1 : 0)
        }
    }
}
