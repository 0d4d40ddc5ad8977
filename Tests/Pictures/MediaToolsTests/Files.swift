import Glibc
import LinuxSystem
import TestSupport

/// Opens a file, for reading by default.
func opened(_ path: String, flags: Int32 = O_RDONLY) throws -> SharedDescriptor {
    try SharedDescriptor(opening: path, flags: flags, mode: 0o600)
}

func nullDevice() throws -> SharedDescriptor { try opened("/dev/null", flags: O_RDWR) }

extension TemporaryDirectory {
    /// Writes an executable program with this text and returns the path.
    func program(_ name: String, _ text: String) throws -> String {
        let file = try file(name, text)
        chmod(file, 0o755)
        return file
    }
}
