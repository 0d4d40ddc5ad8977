// Handles `source.toml` and its changes.
extension SourceMachine {
    mutating func describe(_ description: SourceDescription, now: Now) {
        let last = seen ?? record.description
        if description != last || malformed != nil {
            movedAt = now.monotonic
            isDirty = true
            isChanged = true
        }
        malformed = nil
        seen = description
        if !isTaken { record.description = description }
        let becameDraft = description.isDraft && last?.isDraft != true && !isSubmitted
        switch record.stage {
        case .draft: if !description.isDraft || isSubmitted { record.stage = .collecting }
        case .collecting, .uploading: if becameDraft { turnIntoDraft() }
        case .rejected:
            if becameDraft { turnIntoDraft() } else if last == nil { record.stage = .collecting }
        case .done: if !description.isDraft, last?.isDraft == true { submit() }
        case .committing, .failed, .cancelled: break
        }
        isSubmitted = false
    }

    mutating func describe(as error: FileError, now: Now) {
        guard malformed != error else { return }
        malformed = error
        movedAt = now.monotonic
        isChanged = true
    }

    private mutating func turnIntoDraft() {
        adoptSeenDescription()
        unverified = []
        record.stage = .draft
    }

    /// Adopts the last description read, because the revision taken with the old one is no longer in progress.
    mutating func adoptSeenDescription() {
        if let seen { record.description = seen }
    }
}

extension SourceDescription {
    /// Whether both descriptions lead to the same post.
    func postsTheSame(as other: SourceDescription) -> Bool {
        title == other.title && cover == other.cover
    }
}
