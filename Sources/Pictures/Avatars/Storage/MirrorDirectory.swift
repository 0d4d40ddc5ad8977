import CLinux
import Glibc
import LinuxSystem
import Synchronization
import SystemPackage

/// The mirror's directory on disk: finds, places and removes files, and never follows a symbolic link.
///
/// Several processes may work in one directory. Changes need the lock, except the time of use in a record. Reads need
/// no lock, because files appear atomically and are identified by their stamps.
final class MirrorDirectory: Sendable {
    static let records = Array(".records".utf8)
    static let styles = Array(".styles".utf8)
    private static let workshops = Array(".tmp".utf8)
    private static let lockFile = Array(".lock".utf8)
    private static let workshopLockFile = Array("lock".utf8)
    private static let slash = UInt8(ascii: "/")
    /// How long to wait for the lock, which other processes hold only briefly.
    private static let patience = Duration.seconds(10)

    let root: Directory
    /// The directory where this process writes files before it moves them to their places.
    let workshop: Directory
    private let workshopPath: [UInt8]
    /// A file in the workshop, locked (man 2 flock) while the workshop is in use. The lock distinguishes the workshop
    /// from leftovers of a kill. The file is open for writing, because NFS requires that for locks.
    private let workshopLock: SharedDescriptor
    private let counter = Atomic<UInt64>(0)

    /// Opens the directory, creates it if missing, and removes leftovers of killed processes.
    ///
    /// - Throws: `Errno`.
    init(path: String) throws(Errno) {
        try Directory.create(path)
        let root = try Directory(path: path)
        try root.createDirectories(Self.records)
        try root.createDirectories(Self.workshops)
        let name = Self.workshops + [Self.slash] + Array(String(UInt64.random(in: .min ... .max), radix: 16).utf8)
        (workshop, workshopLock) = try Self.withLock(on: root) { () throws(Errno) -> (Directory, SharedDescriptor) in
            try Self.removeAbandoned(in: try root.directory(Self.workshops))
            try root.createDirectories(name)
            let workshop = try root.directory(name)
            let lock = SharedDescriptor(
                try workshop.open(Self.workshopLockFile, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600))
            try retryingOnInterrupt { flock(lock.rawValue, LOCK_EX | LOCK_NB) }
            return (workshop, lock)
        }
        self.root = root
        workshopPath = name
    }

    deinit {
        try? workshop.unlink(Self.workshopLockFile)
        try? root.removeDirectory(workshopPath)
    }

    /// Whether the path still leads to this directory, and its subdirectories exist.
    func isInPlace(at path: String) -> Bool {
        guard let open = try? FileStatus(of: root.rawValue), let named = try? FileStatus(path: path) else {
            return false
        }
        return open.device == named.device && open.inode == named.inode
            && (try? root.status(Self.records))?.kind == .directory
            && (try? root.status(workshopPath))?.kind == .directory
    }

    // MARK: Lock

    /// Runs a change of the directory while no other process makes one.
    ///
    /// - Throws: `Errno`; `.wouldBlock` if another process holds the lock for too long.
    func withLock<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result {
        try Self.withLock(on: root, body)
    }

    private static func withLock<Result>(
        on root: Directory, _ body: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        let file = try root.open(lockFile, flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        // Any process that can open the file can hold the lock, and earlier versions gave it a wider mode.
        if try FileStatus(of: file.rawValue).permissions != 0o600 { _ = fchmod(file.rawValue, 0o600) }
        let start = ContinuousClock.now
        while flock(file.rawValue, LOCK_EX | LOCK_NB) != 0 {
            let failure = Errno(rawValue: errno)
            guard failure == .wouldBlock || failure == .interrupted else { throw failure }
            if ContinuousClock.now - start > patience { throw .wouldBlock }
            usleep(2000)
        }
        defer { flock(file.rawValue, LOCK_UN) }
        return try body()
    }

    /// Removes workshops that no process holds.
    private static func removeAbandoned(in workshops: Directory) throws(Errno) {
        for entry in try workshops.entries() {
            guard let workshop = try? workshops.directory(entry.name) else { continue }
            // If the lock file is missing, the workshop's owner was killed before it could create the file: a live
            // owner would hold the directory's lock now.
            let lock = try? SharedDescriptor(workshop.open(workshopLockFile, flags: O_RDWR | O_NOFOLLOW))
            if let lock, flock(lock.rawValue, LOCK_EX | LOCK_NB) != 0 { continue }
            for file in try workshop.entries() { try workshop.unlink(file.name) }
            try workshops.removeDirectory(entry.name)
        }
    }

    // MARK: Files

    /// Creates a file in the workshop, open for reading and writing.
    func makeFile() throws(Errno) -> (name: [UInt8], file: SharedDescriptor) {
        let number = counter.wrappingAdd(1, ordering: .relaxed).newValue
        let name = Array(String(number).utf8)
        let file = try workshop.open(name, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o666)
        return (name, SharedDescriptor(file))
    }

    /// Opens the file with a stamp at a place; nil if there is none, or only another file.
    ///
    /// - Returns: The file, and its path below the directory.
    func find(
        _ place: [[UInt8]], _ stamp: MirrorRecord.Stamp
    ) throws(Errno) -> (file: SharedDescriptor, path: [UInt8])? {
        let path = Self.path(place)
        for candidate in [path, path + Array(MirrorPlace.fileSuffix.utf8)] {
            do {
                let file = SharedDescriptor(try root.open(candidate, flags: O_RDONLY | O_NOFOLLOW))
                let status = try FileStatus(of: file.rawValue)
                if status.kind == .regular, MirrorRecord.Stamp(status) == stamp { return (file, candidate) }
            } catch {
                if !Self.meansAbsent(error) { throw error }
            }
        }
        return nil
    }

    /// Moves a file from the workshop to a place, and replaces the file there. If a directory and a file need the same
    /// name, the file's name gets the suffix `%file`. The lock must be held.
    func put(_ name: [UInt8], at place: [[UInt8]]) throws(Errno) {
        guard let last = place.last else { throw .invalidArgument }
        let parent = try makeDirectory(place.dropLast())
        let suffixed = last + Array(MirrorPlace.fileSuffix.utf8)
        do {
            try workshop.move(name, to: last, in: parent)
        } catch {
            if error != .isDirectory { throw error }
            return try workshop.move(name, to: suffixed, in: parent)
        }
        // Left from the time when a directory had this name.
        try? parent.unlink(suffixed)
    }

    /// Flushes a file and its parent directories to the disk.
    func flush(_ file: SharedDescriptor, at place: [[UInt8]]) throws(Errno) {
        try retryingOnInterrupt { fsync(file.rawValue) }
        for length in (1..<place.count).reversed() { try Self.flush(root.directory(Self.path(place[..<length]))) }
        try Self.flush(root)
    }

    /// Flushes the names in a directory to the disk.
    static func flush(_ directory: Directory) throws(Errno) {
        let raw = directory.rawValue
        try retryingOnInterrupt { fsync(raw) }
    }

    /// Removes the file at a place, and the directories that are then empty. The lock must be held.
    func remove(_ place: [[UInt8]]) throws(Errno) {
        guard let last = place.last else { return }
        var parents = place.dropLast()
        do throws(Errno) {
            let parent = try root.directory(Self.path(parents))
            for name in [last, last + Array(MirrorPlace.fileSuffix.utf8)] {
                do throws(Errno) {
                    try parent.unlink(name)
                } catch {
                    if !Self.meansAbsent(error) { throw error }
                }
            }
        } catch {
            if !Self.meansAbsent(error) { throw error }
        }
        while let name = parents.popLast() {
            guard let above = try? root.directory(Self.path(parents)), (try? above.removeDirectory(name)) != nil
            else { return }
        }
    }

    /// Opens a directory, and creates missing parts of its path.
    private func makeDirectory(_ place: ArraySlice<[UInt8]>) throws(Errno) -> Directory {
        do {
            return try root.directory(Self.path(place))
        } catch {
            if error != .noSuchFileOrDirectory && error != .notDirectory { throw error }
        }
        var directory = root
        for name in place {
            do {
                directory = try directory.directory(name)
                continue
            } catch {
                switch error {
                case .noSuchFileOrDirectory: break
                case .notDirectory: try directory.rename(name, to: name + Array(MirrorPlace.fileSuffix.utf8))
                default: throw error
                }
            }
            try directory.createDirectories(name)
            directory = try directory.directory(name)
        }
        return directory
    }

    private static func path(_ place: some Sequence<[UInt8]>) -> [UInt8] { Array(place.joined(separator: [slash])) }

    /// Whether an error means that the file does not exist: its name or a parent is missing, or is another kind of
    /// object.
    private static func meansAbsent(_ error: Errno) -> Bool {
        switch error {
        case .noSuchFileOrDirectory, .notDirectory, .isDirectory, .tooManySymbolicLinkLevels, .noSuchAddressOrDevice:
            true
        default: false
        }
    }
}
