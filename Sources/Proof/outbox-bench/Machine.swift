import Glibc

/// The properties of the machine that affect the figures.
struct Machine: Encodable {
    let cores: Int
    let memory: String
    let kernel: String
    let fileSystem: String

    /// - Parameter directory: The directory of the files.
    init(directory: String) {
        cores = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        memory = Text.memory(sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE)))
        kernel = TextFile.read("/proc/sys/kernel/osrelease")?.filter { !$0.isNewline } ?? "unknown"
        fileSystem = Self.fileSystem(of: directory)
    }

    var text: String { "machine  \(cores) cores, \(memory), Linux \(kernel), \(fileSystem)" }

    /// Returns the type of the file system mounted closest above the directory (man 5 proc, `mounts`).
    private static func fileSystem(of directory: String) -> String {
        let mounts = (TextFile.read("/proc/self/mounts") ?? "").split(separator: "\n").map { $0.split(separator: " ") }
        let above = mounts.filter { $0.count > 2 && ($0[1] == "/" || "\(directory)/".hasPrefix("\($0[1])/")) }
        return above.max { $0[1].count < $1[1].count }.map { String($0[2]) } ?? "unknown"
    }
}
