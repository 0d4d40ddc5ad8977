import UploadCore

/// The sources that are known, by directory.
struct SourceBook: Sendable {
    /// One source.
    struct Entry: Sendable {
        var machine: SourceMachine
        /// The `source.toml` that was read last; nil before one was.
        var descriptionFile: FileIdentity?
        /// The stage its files were told of last: what is said of them follows from it.
        var toldStage: SourceRecord.Stage?
        /// What was gathered last, so that the upload machine is told of changes only.
        var gathered: [ContentKey] = []
        /// Since when it has waited for files that the watch has not told of.
        var waitsForWatchSince: MonotonicTime?

        var record: SourceRecord { machine.record }
    }

    private(set) var entries = PathMap<Entry>()
    /// Those that have something to do when some time has passed: few of many.
    private(set) var waiting: Set<RelativePath> = []

    var isEmpty: Bool { entries.isEmpty }
    var directories: [RelativePath] { entries.keys.sorted() }

    subscript(_ directory: RelativePath) -> Entry? {
        get { entries[directory] }
        set {
            entries[directory] = newValue
            if newValue?.machine.nextDeadline == nil { waiting.remove(directory) } else { waiting.insert(directory) }
        }
    }

    /// The directory of the source with an id.
    func directory(withID id: String) -> RelativePath? { entries.first { $0.value.record.id == id }?.key }

    /// Where a source was known whose directory bore a mark.
    func directory(marked mark: SourceRecord.DirectoryMark?) -> RelativePath? {
        mark.flatMap { mark in entries.first { $0.value.record.mark == mark }?.key }
    }

    /// The directory of the source that a path is in, or is itself; nil where it is in none.
    func directory(above path: RelativePath) -> RelativePath? {
        if entries.isEmpty { return nil }
        var directory = path
        while !directory.bytes.isEmpty {
            if entries[directory] != nil { return directory }
            directory = directory.parent
        }
        return nil
    }

    /// The sources at or below a directory.
    func directories(within directory: RelativePath) -> [RelativePath] {
        entries.paths(within: directory).sorted()
    }

    /// When the next source has something to do, of those that may have.
    func nextDeadline(where mayHave: (SourceRecord) -> Bool) -> MonotonicTime? {
        waiting.compactMap { entries[$0] }.filter { mayHave($0.record) }.compactMap(\.machine.nextDeadline).min()
    }
}
