import Glibc
import LinuxSystem
import TestSupport

/// An open file for reading.
func opened(_ path: String, flags: Int32 = O_RDONLY) throws -> SharedDescriptor {
    try SharedDescriptor(opening: path, flags: flags, mode: 0o600)
}

func nullDevice() throws -> SharedDescriptor { try opened("/dev/null", flags: O_RDWR) }

extension TemporaryDirectory {
    /// A program with this text.
    func program(_ name: String, _ text: String) throws -> String {
        let file = try file(name, text)
        chmod(file, 0o755)
        return file
    }
}
