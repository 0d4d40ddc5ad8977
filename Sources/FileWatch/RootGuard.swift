import LinuxSystem
import SystemPackage
import UploadCore

/// Makes sure that the outbox is the directory it was.
struct RootGuard {
    /// What opening the outbox led to.
    enum Outcome {
        /// It is there as before.
        case present(Directory)
        /// It is there again.
        case back(Directory, isSame: Bool)
        /// It was there the last time and is not any more.
        case lost(reason: String)
        /// It is still not there.
        case absent
        /// It could not be opened for want of descriptors or memory.
        case starved
    }

    private let path: String
    /// What stood there before the watch began.
    private let expected: FileStatus?
    private var status: FileStatus?
    private var isMountPoint = false
    private var isLost = false

    init(path: String, expected: FileStatus? = nil) {
        self.path = path
        self.expected = expected
    }

    /// Opens the outbox and compares it with what it was.
    mutating func open() -> Outcome {
        do {
            let directory = try Directory(path: path)
            let found = try FileStatus(of: directory.rawValue)
            guard let known = status else { return try accept(directory, found, isSame: false) }
            if !isLost {
                if known.isSameDirectory(as: found) { return .present(directory) }
                isLost = true
                return .lost(reason: isMountPoint ? "it was unmounted" : "another directory has taken its place")
            }
            return try accept(directory, found, isSame: known.isSameDirectory(as: found))
        } catch .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory {
            return .starved
        } catch {
            if isLost { return .absent }
            isLost = true
            return .lost(reason: "it cannot be opened: \(error)")
        }
    }

    private mutating func accept(
        _ directory: Directory, _ found: FileStatus, isSame: Bool
    ) throws(Errno) -> Outcome {
        let isMounted = try FileStatus(path: path + "/..").device != found.device
        // The empty directory that shows while a medium is away is not the outbox.
        if isLost && isMountPoint && !isMounted { return .absent }
        isMountPoint = isMounted
        let isFirst = status == nil && expected?.isSameDirectory(as: found) != false
        status = found
        isLost = false
        return isFirst ? .present(directory) : .back(directory, isSame: isSame)
    }
}

extension FileStatus {
    fileprivate func isSameDirectory(as other: FileStatus) -> Bool {
        device == other.device && inode == other.inode && born == other.born
    }
}
