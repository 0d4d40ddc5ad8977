/// The known posts by directory.
package struct SourceBook: Sendable {
    /// One post.
    package struct Entry: Sendable {
        package var machine: SourceMachine
        /// The `source.toml` that was read last; nil before the first read.
        var descriptionFile: FileIdentity?
        /// The stage in the last reports of the post's files. Those reports depend on the stage.
        var reportedStage: SourceRecord.Stage?
        /// The contents gathered last, so that the upload machine receives only changes.
        var gathered: [ContentKey] = []
        /// Since when the post has waited for files that the watch has not reported.
        var waitsForWatchSince: MonotonicTime?

        package init(machine: SourceMachine) { self.machine = machine }

        package var record: SourceRecord { machine.record }
    }

    private var entries = PathMap<Entry>()
    /// Directories of the posts with a deadline, usually few.
    private(set) var waiting: Set<RelativePath> = []

    package init() {}

    var isEmpty: Bool { entries.isEmpty }
    package var directories: [RelativePath] { entries.keys.sorted() }

    package subscript(_ directory: RelativePath) -> Entry? {
        get { entries[directory] }
        set {
            entries[directory] = newValue
            if newValue?.machine.nextDeadline == nil { waiting.remove(directory) } else { waiting.insert(directory) }
        }
    }

    /// Returns the directory of the post with an id.
    func directory(withID id: String) -> RelativePath? { entries.first { $0.value.record.id == id }?.key }

    /// Returns the known directory of the post with this directory mark.
    func directory(marked mark: SourceRecord.DirectoryMark?) -> RelativePath? {
        mark.flatMap { mark in entries.first { $0.value.record.mark == mark }?.key }
    }

    /// Returns the directory of the post that contains the path or is the path; nil if there is none. A post whose
    /// directory was removed contains nothing: what has its name now came later.
    package func directory(above path: RelativePath) -> RelativePath? { directory(above: path, wasRemoved: false) }

    /// Returns the directory of the removed post in whose place the path is; nil if there is none.
    func removedDirectory(above path: RelativePath) -> RelativePath? { directory(above: path, wasRemoved: true) }

    private func directory(above path: RelativePath, wasRemoved: Bool) -> RelativePath? {
        if entries.isEmpty { return nil }
        var directory = path
        while !directory.bytes.isEmpty {
            if let entry = entries[directory], entry.record.wasRemoved == wasRemoved { return directory }
            directory = directory.parent
        }
        return nil
    }

    /// Returns the posts at or below a directory.
    func directories(within directory: RelativePath) -> [RelativePath] {
        entries.paths(within: directory).sorted()
    }

    /// Returns the earliest deadline of the posts that satisfy the predicate.
    func nextDeadline(where mayHave: (SourceRecord) -> Bool) -> MonotonicTime? {
        waiting.compactMap { entries[$0] }.filter { mayHave($0.record) }.compactMap(\.machine.nextDeadline).min()
    }
}
