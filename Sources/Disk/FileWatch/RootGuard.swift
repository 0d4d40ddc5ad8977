import LinuxSystem
import SystemPackage

/// Checks that the outbox is still the same directory.
struct RootGuard: Sendable {
    /// The result of opening the outbox.
    enum Outcome: Sendable {
        /// The outbox is present as before.
        case present(Directory)
        /// The outbox reappeared.
        case back(Directory, isSame: Bool)
        /// The outbox disappeared or was replaced since the last call.
        case lost(reason: String)
        /// The outbox is still missing.
        case absent
        /// The outbox could not be opened for lack of descriptors or memory.
        case starved
    }

    private let path: String
    /// The directory at this path before the watch began.
    private let expected: DirectoryIdentity?
    private var known: DirectoryIdentity?
    private var isMountPoint = false
    private var isLost = false

    init(path: String, expected: FileStatus? = nil) {
        self.path = path
        self.expected = expected.map(DirectoryIdentity.init)
    }

    /// Opens the outbox and compares its identity with the recorded one.
    ///
    /// - Parameter closer: closes the directory.
    mutating func open(closer: SharedDescriptor.Closer? = nil) -> Outcome {
        do {
            let directory = try Directory(path: path, closer: closer)
            let found = try FileStatus(of: directory.rawValue)
            guard let known else { return try accept(directory, found, isSame: false) }
            if !isLost {
                if known == DirectoryIdentity(found) { return .present(directory) }
                isLost = true
                return .lost(
                    reason: isMountPoint ? "the outbox was unmounted" : "another directory has taken the outbox's place"
                )
            }
            return try accept(directory, found, isSame: known == DirectoryIdentity(found))
        } catch {
            if LocalError(error) == .shortage { return .starved }
            if isLost { return .absent }
            isLost = true
            return .lost(reason: "the outbox cannot be opened: \(error)")
        }
    }

    private mutating func accept(
        _ directory: Directory, _ found: FileStatus, isSame: Bool
    ) throws(Errno) -> Outcome {
        let identity = DirectoryIdentity(found)
        let isMounted = try FileStatus(path: path + "/..").device != found.device
        // The empty directory visible while a medium is unmounted is not the outbox.
        if isLost && isMountPoint && !isMounted { return .absent }
        isMountPoint = isMounted
        let isFirst = known == nil && expected.map { $0 == identity } ?? true
        known = identity
        isLost = false
        return isFirst ? .present(directory) : .back(directory, isSame: isSame)
    }
}
