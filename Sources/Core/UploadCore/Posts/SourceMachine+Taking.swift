// Decides when to make a revision of a source, with which files, and when to reject or fail the source.
extension SourceMachine {
    /// The verdict on a submitted source once it is quiet.
    private enum Verdict {
        /// Information is missing and will arrive.
        case wait
        case reject(FileError)
        case fail(FileError)
        case take([RelativePath: ContentKey])
    }

    /// Makes a revision of the source's files if all necessary facts are known.
    mutating func takeRevision() {
        guard let description = seen else { return }
        isDirty = false
        switch verdict(on: description) {
        case .wait: break
        case .reject(let error): record.stage = .rejected(error)
        case .fail(let error): record.stage = .failed(error)
        case .take(let members): begin(members, description)
        }
    }

    private func verdict(on description: SourceDescription) -> Verdict {
        let wanted = files.count { !$0.value.isLeftOut }
        if wanted > SourceRecord.mostFiles { return .reject(.tooManyFiles(wanted)) }
        if !awaited.isEmpty || files.values.contains(where: \.isComing) || files.isEmpty { return .wait }
        if wanted == 0 { return .reject(.noFiles) }
        if let failed = firstFailed(of: files.keys) { return .fail(failed) }
        let members = files.filter(\.value.isUsable).compactMapValues(\.key)
        if let cover = description.cover, members[cover] == nil { return .reject(.noCover(cover)) }
        return .take(members)
    }

    private mutating func begin(_ members: [RelativePath: ContentKey], _ description: SourceDescription) {
        forgotten = 0
        unverified = []
        if let post = record.post, post.revision == record.revision, post.files == members,
            post.description.postsTheSame(as: description)
        {
            record.stage = .done
            return
        }
        // A number that was used and never confirmed is free: no commit carried it, or the server refused the commit
        // (see `giveUp`, `committed`).
        if record.revision == record.post?.revision ?? 0 { record.revision += 1 }
        record.files = members
        record.skipped = Set(files.filter(\.value.isLeftOut).keys)
        record.departed = [:]
        record.stage = .uploading
        gone = []
    }

    /// Returns the error of the first file, by name, that failed for good.
    func firstFailed(of names: some Sequence<RelativePath>) -> FileError? {
        guard let name = names.filter({ files[$0]?.state == .failed }).min() else { return nil }
        return .fileFailed(name, files[name]?.error)
    }
}

extension FileError {
    static func tooManyFiles(_ count: Int) -> FileError {
        let message =
            "a post has at most \(SourceRecord.mostFiles) files, this one has \(count); move some out of the directory"
        return FileError(code: "too_many_files", message: message, retryable: false)
    }

    static let noFiles = FileError(
        code: "no_files", message: "the post has no file that can be uploaded; add one", retryable: false)

    static func noCover(_ cover: RelativePath) -> FileError {
        let message = "source.toml says cover = \"\(cover)\", but the post has no such file to upload; correct the name"
        return FileError(code: "no_cover", message: message, retryable: false)
    }

    static func fileFailed(_ name: RelativePath, _ error: FileError?) -> FileError {
        let reason = error.map { "\($0.message) (\($0.code))" } ?? "the file could not be uploaded"
        let message = "\(name): \(reason); retry the post, or remove the file and submit the post again"
        return FileError(code: "file_failed", message: message, retryable: false)
    }
}
