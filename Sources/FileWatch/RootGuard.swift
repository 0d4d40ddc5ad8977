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
    private let expected: DirectoryIdentity?
    private var known: DirectoryIdentity?
    private var isMountPoint = false
    private var isLost = false

    init(path: String, expected: FileStatus? = nil) {
        self.path = path
        self.expected = expected.map(DirectoryIdentity.init)
    }

    /// Opens the outbox and compares it with what it was.
    mutating func open() -> Outcome {
        do {
            let directory = try Directory(path: path)
            let found = try FileStatus(of: directory.rawValue)
            guard let known else { return try accept(directory, found, isSame: false) }
            if !isLost {
                if known == DirectoryIdentity(found) { return .present(directory) }
                isLost = true
                return .lost(reason: isMountPoint ? "it was unmounted" : "another directory has taken its place")
            }
            return try accept(directory, found, isSame: known == DirectoryIdentity(found))
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
        let identity = DirectoryIdentity(found)
        let isMounted = try FileStatus(path: path + "/..").device != found.device
        // The empty directory that shows while a medium is away is not the outbox.
        if isLost && isMountPoint && !isMounted { return .absent }
        isMountPoint = isMounted
        let isFirst = known == nil && expected.map { $0 == identity } ?? true
        known = identity
        isLost = false
        return isFirst ? .present(directory) : .back(directory, isSame: isSame)
    }
}
