import UploadCore

/// The known sources by directory.
struct SourceBook: Sendable {
    /// One source.
    struct Entry: Sendable {
        var machine: SourceMachine
        /// The `source.toml` that was read last; `nil` before the first read.
        var descriptionFile: FileIdentity?
        /// The stage in the last reports of the source's files. Those reports depend on the stage.
        var toldStage: SourceRecord.Stage?
        /// The contents gathered last, so that the upload machine receives only changes.
        var gathered: [ContentKey] = []
        /// Since when the source has waited for files that the watch has not reported.
        var waitsForWatchSince: MonotonicTime?

        var record: SourceRecord { machine.record }
    }

    private(set) var entries = PathMap<Entry>()
    /// Directories of the sources with a deadline, usually few.
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

    /// Returns the directory of the source with an id.
    func directory(withID id: String) -> RelativePath? { entries.first { $0.value.record.id == id }?.key }

    /// Returns the known directory of the source with this directory mark.
    func directory(marked mark: SourceRecord.DirectoryMark?) -> RelativePath? {
        mark.flatMap { mark in entries.first { $0.value.record.mark == mark }?.key }
    }

    /// Returns the directory of the source that contains the path or is the path; `nil` if there is none.
    func directory(above path: RelativePath) -> RelativePath? {
        if entries.isEmpty { return nil }
        var directory = path
        while !directory.bytes.isEmpty {
            if entries[directory] != nil { return directory }
            directory = directory.parent
        }
        return nil
    }

    /// Returns the sources at or below a directory.
    func directories(within directory: RelativePath) -> [RelativePath] {
        entries.paths(within: directory).sorted()
    }

    /// Returns the earliest deadline of the sources that satisfy the predicate.
    func nextDeadline(where mayHave: (SourceRecord) -> Bool) -> MonotonicTime? {
        waiting.compactMap { entries[$0] }.filter { mayHave($0.record) }.compactMap(\.machine.nextDeadline).min()
    }
}
