import CLinux
import Glibc
import LinuxSystem
import Synchronization
import SystemPackage

/// The mirror's directory on disk: finds, places and removes files below it, and never follows a symbolic link.
///
/// Several processes may work in one directory. Whatever changes it is done with its lock held; reading takes none,
/// since files come to their places whole and are told by their stamps.
final class MirrorDirectory: Sendable {
    static let records = Array(".records".utf8)
    static let styles = Array(".styles".utf8)
    private static let workshops = Array(".tmp".utf8)
    private static let lockFile = Array(".lock".utf8)
    private static let workshopLockFile = Array("lock".utf8)
    private static let slash = UInt8(ascii: "/")
    /// How long to wait for another process that holds the lock, which it does for moments.
    private static let patience = Duration.seconds(10)

    let root: Directory
    /// Where this process writes files before they come to their places.
    let workshop: Directory
    private let workshopPath: [UInt8]
    /// A file in the workshop that is locked (man 2 flock) for as long as the workshop is in use, so that others can tell
    /// it from what a kill has left. It is open for writing, as NFS wants it for locks.
    private let workshopLock: SharedDescriptor
    private let counter = Atomic<UInt64>(0)

    /// Opens the directory, makes it where it is missing, and removes what processes that were killed have left.
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

    /// Whether this is still the directory of its path, with all that is needed in it.
    func isInPlace(at path: String) -> Bool {
        guard let open = try? FileStatus(of: root.rawValue), let named = try? FileStatus(path: path) else {
            return false
        }
        return open.device == named.device && open.inode == named.inode
            && (try? root.status(Self.records))?.kind == .directory
            && (try? root.status(workshopPath))?.kind == .directory
    }

    // MARK: Lock

    /// Runs what changes the directory while no other process does.
    ///
    /// - Throws: `Errno`; `.wouldBlock` where another process holds the lock for too long.
    func withLock<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result {
        try Self.withLock(on: root, body)
    }

    private static func withLock<Result>(
        on root: Directory, _ body: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        let file = try root.open(lockFile, flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        // Whoever may open it may hold the lock; earlier versions let everybody.
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

    /// Removes the workshops that nobody holds.
    private static func removeAbandoned(in workshops: Directory) throws(Errno) {
        for entry in try workshops.entries() {
            guard let workshop = try? workshops.directory(entry.name) else { continue }
            // Without the file, its maker was killed before it could make it: it would hold the lock that is held here.
            let lock = try? SharedDescriptor(workshop.open(workshopLockFile, flags: O_RDWR | O_NOFOLLOW))
            if let lock, flock(lock.rawValue, LOCK_EX | LOCK_NB) != 0 { continue }
            for file in try workshop.entries() { try workshop.unlink(file.name) }
            try workshops.removeDirectory(entry.name)
        }
    }

    // MARK: Files

    /// A new file in the workshop, open for reading and writing.
    func makeFile() throws(Errno) -> (name: [UInt8], file: SharedDescriptor) {
        let number = counter.wrappingAdd(1, ordering: .relaxed).newValue
        let name = Array(String(number).utf8)
        let file = try workshop.open(name, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o666)
        return (name, SharedDescriptor(file))
    }

    /// Opens the file at a place that bears a stamp; nil where there is none, or another.
    ///
    /// - Returns: the file, and its path below the directory.
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

    /// Moves a file of the workshop to a place, over what stands there. Where a directory is needed and a file stands,
    /// or the other way round, the file's name gets the suffix `%file`. The lock must be held.
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
        // From a time when a directory stood there.
        try? parent.unlink(suffixed)
    }

    /// Writes a file and the directories on the way to it to the disk.
    func flush(_ file: SharedDescriptor, at place: [[UInt8]]) throws(Errno) {
        try retryingOnInterrupt { fsync(file.rawValue) }
        for length in (1..<place.count).reversed() { try Self.flush(root.directory(Self.path(place[..<length]))) }
        try Self.flush(root)
    }

    /// Writes the names in a directory to the disk.
    static func flush(_ directory: Directory) throws(Errno) {
        let raw = directory.rawValue
        try retryingOnInterrupt { fsync(raw) }
    }

    /// Removes the file at a place, and directories that are empty then. The lock must be held.
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

    /// Opens a directory, and makes what is missing of it.
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

    /// Whether an error says that there is no such file: its name, or one on the way, is missing or something else.
    private static func meansAbsent(_ error: Errno) -> Bool {
        switch error {
        case .noSuchFileOrDirectory, .notDirectory, .isDirectory, .tooManySymbolicLinkLevels, .noSuchAddressOrDevice:
            true
        default: false
        }
    }
}
