// What is asked of a source: nothing of it is stored.
extension SourceMachine {
    /// Whether a file must not be sent now. Where the answer changes, `handle` says `changed`.
    public func holds(_ name: RelativePath) -> Bool {
        if record.isPaused { return true }
        switch record.stage {
        case .draft, .rejected, .failed, .cancelled: return true
        case .collecting: return !adopted.contains(name) || record.description?.isDraft == true
        case .uploading, .committing, .done: return baseline[name] == nil || isPending(name)
        }
    }

    /// Whether a file must not be sent now that has just been found to hold a content, before the source is told.
    public func holds(_ name: RelativePath, with key: ContentKey?) -> Bool {
        guard let key, files[name]?.key != key else { return holds(name) }
        var later = self
        later.files[name] = SourceFile(state: .queued, key: key)
        return later.holds(name)
    }

    /// Files that were added, changed or removed since the revision was taken, ordered; `source.toml` is among them
    /// where it was edited. `submit` takes them.
    public var pendingChanges: [RelativePath] {
        let baseline = baseline
        guard !baseline.isEmpty else { return [] }
        var names = Set(files.keys).union(gone).filter { isPending($0) }
        if isDescriptionPending { names.insert(Self.descriptionName) }
        return names.sorted()
    }

    /// The file that stands for the post: the one that `source.toml` names, else the first picture by name, else the
    /// first file; nil where there is none.
    public var cover: RelativePath? {
        let members = baseline
        let names = members.isEmpty ? Array(files.filter(\.value.isUsable).keys) : Array(members.keys)
        let description = record.stage == .done ? record.post?.description : record.description
        if let named = description?.cover, names.contains(named) { return named }
        return names.filter { files[$0]?.isPicture == true }.min() ?? names.min()
    }

    /// Whether its contents are to be registered and asked about together.
    public var isGathered: Bool { record.stage == .uploading }

    /// The contents that are to be registered and asked about together, each once, in order of the files' names; empty
    /// unless the source is taken and not complete yet.
    public var gathered: [ContentKey] {
        guard isGathered else { return [] }
        var known: Set<ContentKey> = []
        return record.files.sorted { $0.key < $1.key }.map(\.value).filter { known.insert($0).inserted }
    }

    /// Whether `intake.after_upload` must leave the files alone: they leave the outbox only once they are in a post.
    public var keepsFiles: Bool { record.stage != .done || !pendingChanges.isEmpty }

    /// The files that changes are told apart from: those of the revision, or of the post; empty where all that is there will
    /// be taken.
    private var baseline: [RelativePath: ContentKey] {
        switch record.stage {
        case .uploading, .committing: record.files
        case .done: record.post?.files ?? [:]
        case .draft, .collecting, .rejected, .failed, .cancelled: [:]
        }
    }

    private func isPending(_ name: RelativePath) -> Bool {
        let taken = baseline[name]
        guard let file = files[name] else { return taken != nil && gone.contains(name) }
        guard let taken else { return file.isUsable || file.isComing }
        if let key = file.key { return key != taken }
        // What is not sent yet is taken as it will be; what was sent stays, and the new content comes next.
        return record.stage != .uploading || isDone(name)
    }

    private var isDescriptionPending: Bool {
        if malformed != nil { return true }
        guard let now = seen ?? record.description else { return false }
        let taken = record.stage == .done ? record.post?.description : record.description
        return taken.map { !$0.postsTheSame(as: now) } ?? false
    }
}
