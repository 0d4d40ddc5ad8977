// Answers questions about a source. Nothing here is stored.
extension SourceMachine {
    /// Whether the file must not be sent now. If the answer changes, `handle` returns `changed`.
    public func holds(_ name: RelativePath) -> Bool {
        if record.isPaused { return true }
        switch record.stage {
        case .draft, .rejected, .failed, .cancelled: return true
        case .collecting: return !adopted.contains(name) || record.description?.isDraft == true
        case .uploading, .committing, .done: return baseline[name] == nil || isPending(name)
        }
    }

    /// Whether the file must not be sent now, given a newly found content that the source has not been told yet.
    public func holds(_ name: RelativePath, with key: ContentKey?) -> Bool {
        guard let key, files[name]?.key != key else { return holds(name) }
        var later = self
        later.files[name] = SourceFile(state: .queued, key: key)
        return later.holds(name)
    }

    /// The files added, changed or removed since the last revision, sorted. Contains `source.toml` if the user edited
    /// it. `submit` applies these changes.
    public var pendingChanges: [RelativePath] {
        let baseline = baseline
        guard !baseline.isEmpty else { return [] }
        var names = Set(files.keys).union(gone).filter { isPending($0) }
        if isDescriptionPending { names.insert(Self.descriptionName) }
        return names.sorted()
    }

    /// The post's cover: the file named in `source.toml`, else the first picture by name, else the first file; nil if
    /// there are no files.
    public var cover: RelativePath? {
        let members = baseline
        let names = members.isEmpty ? Array(files.filter(\.value.isUsable).keys) : Array(members.keys)
        let description = record.stage == .done ? record.post?.description : record.description
        if let named = description?.cover, names.contains(named) { return named }
        return names.filter { files[$0]?.isPicture == true }.min() ?? names.min()
    }

    /// Whether to register the contents, and ask about them, together.
    public var isGathered: Bool { record.stage == .uploading }

    /// The contents to register and ask about together, without duplicates, sorted by file name. Empty unless a
    /// revision is uploading.
    public var gathered: [ContentKey] {
        guard isGathered else { return [] }
        var known: Set<ContentKey> = []
        return record.files.sorted { $0.key < $1.key }.map(\.value).filter { known.insert($0).inserted }
    }

    /// Whether `intake.after_upload` must leave the files alone. Files leave the outbox only once their post is
    /// complete.
    public var keepsFiles: Bool { record.stage != .done || !pendingChanges.isEmpty }

    /// The files to compare with for pending changes: those of the revision or of the post. Empty if the next revision
    /// takes all present files.
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
        // A revision in progress adopts new content of an unsent file. New content of a sent file waits for the next
        // revision.
        return record.stage != .uploading || isDone(name)
    }

    private var isDescriptionPending: Bool {
        if malformed != nil { return true }
        guard let now = seen ?? record.description else { return false }
        let taken = record.stage == .done ? record.post?.description : record.description
        return taken.map { !$0.postsTheSame(as: now) } ?? false
    }
}
