/// Files hashed so soon after their last change that another change could leave their size and times unchanged.
///
/// Each file is hashed once more, at a time when any later change shows. Until then its record has an untrusted
/// identity, which matches no file, so a scan or the next start hashes the file too.
struct RacyFiles: Sendable {
    /// Longer than the coarsest timestamp granularity (vfat: 2 s).
    static let delay = Duration.milliseconds(2100)

    private var files: [RelativePath: (file: FileIdentity, due: MonotonicTime)] = [:]
    // All files wait equally long and become due in order of arrival.
    private var order: [(path: RelativePath, due: MonotonicTime)] = []

    /// Judges a file after its hash.
    ///
    /// - Parameters:
    ///   - file: the identity before and after the hash.
    ///   - begun: a moment before the hash began.
    /// - Returns: the identity, marked as untrusted if the file needs another hash.
    mutating func judge(_ path: RelativePath, _ file: FileIdentity, _ begun: Now) -> FileIdentity {
        let isRacy = file.isRacy(readAt: begun.wall.milliseconds * 1_000_000)
        // The file stayed in this state long enough for its times to show all later changes, whatever the wall clock
        // says.
        if !isRacy || files[path].map({ $0.file == file && $0.due <= begun.monotonic }) == true {
            files[path] = nil
            return file
        }
        if files[path]?.file != file {
            let due = begun.monotonic + Self.delay
            files[path] = (file, due)
            order.append((path, due))
        }
        return file.untrusted
    }

    /// Forgets a path.
    mutating func forget(_ path: RelativePath) { files[path] = nil }

    /// Removes and returns the paths to hash again now.
    mutating func takeDue(now: MonotonicTime) -> [RelativePath] {
        let count = order.prefix { $0.due <= now }.count
        let due = order.prefix(count).filter { files[$0.path]?.due == $0.due }
        order.removeFirst(count)
        return due.map(\.path)
    }

    /// When the next path is due.
    var nextDeadline: MonotonicTime? { order.first?.due }
}
