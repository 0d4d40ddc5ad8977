import CLinux
import Glibc
package import LinuxSystem
import SystemPackage

/// The access of a system program beyond its descriptors: it may read and execute programs and libraries, and read the
/// files named here. It can't write or create files elsewhere, open sockets, or start processes.
///
/// Two layers, each if the kernel supports it: Landlock (man 7 landlock) for files, TCP and signals, and a system call
/// filter (man 2 seccomp) on x86-64, ARM64 and RISC-V.
package struct Confinement: Sendable {
    /// The program to run, at any path.
    var program: String
    /// Open files that may be reopened through `/proc/self/fd`.
    var readable: [SharedDescriptor]
    /// Regular files that may be reopened for reading and writing, and directories in which files may be read, made,
    /// written and removed.
    var writable: [SharedDescriptor]
    /// Further files and directories that may be read, at any path; missing ones are skipped.
    var readablePaths: [String]

    /// Creates the access rules of a program.
    package init(
        program: String, readable: [SharedDescriptor] = [], writable: [SharedDescriptor] = [],
        readablePaths: [String] = []
    ) {
        self.program = program
        self.readable = readable
        self.writable = writable
        self.readablePaths = readablePaths
    }

    /// Directories of programs and libraries in common distributions; missing ones are skipped.
    private static let systemPaths = [
        "/usr", "/bin", "/lib", "/lib32", "/lib64", "/nix/store", "/etc/ld.so.cache", "/etc/ld.so.preload",
    ]

    /// Creates the Landlock rules; nil if the kernel has no Landlock.
    ///
    /// - Throws: ``StartFailure`` if the kernel has Landlock but the rules can't be created.
    func ruleset() throws(StartFailure) -> SharedDescriptor? {
        let version = outbox_landlock_version()
        if version == 0 { return nil }
        do {
            let raw = try retryingOnInterrupt { outbox_landlock_ruleset(version) }
            let ruleset = SharedDescriptor(Descriptor(owning: raw))
            for path in Self.systemPaths + [program] + readablePaths {
                guard let file = try? SharedDescriptor(opening: path, flags: O_PATH) else { continue }
                try allow(file, in: ruleset)
            }
            for file in readable { try allow(file, in: ruleset) }
            for file in writable {
                let isDirectory = try FileStatus(of: file.rawValue).kind == .directory
                try retryingOnInterrupt {
                    outbox_landlock_allow_writing(ruleset.rawValue, file.rawValue, isDirectory ? 1 : 0, version)
                }
            }
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
