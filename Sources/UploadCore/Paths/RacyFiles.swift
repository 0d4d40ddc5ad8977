/// Files that were hashed so soon after their last change that another change could leave size and times as they are.
///
/// Each is hashed once more, when every later change shows. Until then its record bears an untrusted identity, which fits no
/// file: a scan, or the next start, hashes it again as well.
struct RacyFiles: Sendable {
    /// Longer than the coarsest times last (vfat: 2 s).
    static let delay = Duration.milliseconds(2100)

    private var files: [RelativePath: (file: FileIdentity, due: MonotonicTime)] = [:]
    // All wait equally long, so they become due in the order they came.
    private var order: [(path: RelativePath, due: MonotonicTime)] = []

    /// Judges a file that was hashed.
    ///
    /// - Parameters:
    ///   - file: the file, the same before and after it was read.
    ///   - begun: a moment before the reading began.
    /// - Returns: its identity, untrusted where it must be hashed once more.
    mutating func judge(_ path: RelativePath, _ file: FileIdentity, _ begun: Now) -> FileIdentity {
        let isRacy = file.isRacy(readAt: begun.wall.milliseconds * 1_000_000)
        // Seen in this state long enough ago: its times tell of all later changes, whatever the wall clock says.
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

    /// The paths that are to be hashed again now.
    mutating func takeDue(now: MonotonicTime) -> [RelativePath] {
        let count = order.prefix { $0.due <= now }.count
        let due = order.prefix(count).filter { files[$0.path]?.due == $0.due }
        order.removeFirst(count)
        return due.map(\.path)
    }

    /// When the next path is due.
    var nextDeadline: MonotonicTime? { order.first?.due }
}
