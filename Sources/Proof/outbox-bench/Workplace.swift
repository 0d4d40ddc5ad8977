import Glibc

/// The directory for all files of a run, removed at the end. After a failure, the logs remain.
final class Workplace {
    let directory: String
    let programs: Programs
    private var rooms = 0
    /// Directories that stay until `withKeptRooms` ends; nil outside of it.
    private var kept: [String]?

    init(_ options: Options) throws {
        programs = try Programs(directory: options.binDir)
        let parent = options.workDir ?? Self.defaultParent
        guard mkdir(parent, 0o700) == 0 || errno == EEXIST else { throw Failure.system(parent) }
        guard let resolved = realpath(parent, nil) else { throw Failure.system(parent) }
        defer { free(resolved) }
        directory = try Self.makeDirectory("\(String(cString: resolved))/outbox-bench.\(getpid())")
    }

    /// Makes an empty directory.
    func room(_ name: String) throws -> String {
        rooms += 1
        return try Self.makeDirectory("\(directory)/\(rooms)-\(name)")
    }

    /// Runs `body` in a new directory that is removed afterwards, unless `body` fails.
    func withRoom<Result>(_ name: String, _ body: (String) throws -> Result) throws -> Result {
        let room = try room(name)
        let result = try body(room)
        if kept != nil { kept?.append(room) } else { Self.remove(room) }
        return result
    }

    /// Runs `body`, and removes the directories of its `withRoom` only afterwards, if the disk has space for them. ext4 without
    /// a journal creates files several times slower during the minutes after many files were removed, which would slow
    /// down all contenders but the first.
    func withKeptRooms<Result>(_ bytes: Int64, _ body: () throws -> Result) throws -> Result {
        guard try freeBytes() > bytes + (1 << 30) else { return try body() }
        kept = []
        defer {
            for room in kept ?? [] { Self.remove(room) }
            kept = nil
        }
        return try body()
    }

    /// Runs `body` in a new directory for test files. Always removes the directory, because test files can be created
    /// again.
    func withTestFiles<Result>(_ body: (String) throws -> Result) throws -> Result {
        let room = try room("files")
        defer { Self.remove(room) }
        return try body(room)
    }

    /// Returns the free space of the disk.
    func freeBytes() throws -> Int64 {
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else { throw Failure.system(directory) }
        return Int64(status.f_bavail) * Int64(status.f_frsize)
    }

    /// - Throws: `Failure` if the disk has less free space than this.
    func require(freeBytes: Int64) throws {
        let free = try self.freeBytes()
        guard free >= freeBytes else {
            throw Failure(
                "\(directory) has \(Text.memory(free)) free, but \(Text.memory(freeBytes)) are needed; choose another disk "
                    + "with --work-dir or smaller files")
        }
    }

    func remove() {
        Self.remove(directory)
    }

    /// - Returns: The path.
    @discardableResult static func makeDirectory(_ path: String) throws -> String {
        guard mkdir(path, 0o700) == 0 else { throw Failure.system(path) }
        return path
    }

    /// Removes a directory with all its contents.
    static func remove(_ path: String) {
        if unlink(path) == 0 { return }
        for name in TextFile.names(in: path) { remove("\(path)/\(name)") }
        rmdir(path)
    }

    private static var defaultParent: String {
        if access(".build", W_OK) == 0 { return ".build" }
        return getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    }
}

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
