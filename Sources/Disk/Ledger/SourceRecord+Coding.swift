import UploadCore

extension SourceRecord: StoredRecord {
    static var table: LedgerTable { .sources }

    /// The optional fields present in a record, as bits.
    private struct Presence: OptionSet {
        let rawValue: UInt16
        static let account = Presence(rawValue: 1)
        static let finishedAt = Presence(rawValue: 2)
        static let paused = Presence(rawValue: 4)
        static let description = Presence(rawValue: 8)
        static let post = Presence(rawValue: 16)
        static let departed = Presence(rawValue: 32)
        static let mark = Presence(rawValue: 64)
    }

    private var presence: Presence {
        var presence: Presence = []
        if account != nil { presence.insert(.account) }
        if finishedAt != nil { presence.insert(.finishedAt) }
        if isPaused { presence.insert(.paused) }
        if description != nil { presence.insert(.description) }
        if post != nil { presence.insert(.post) }
        if !departed.isEmpty { presence.insert(.departed) }
        if mark != nil { presence.insert(.mark) }
        return presence
    }

    func encodeFields(into encoder: inout RecordEncoder) {
        encoder.append(id)
        encoder.append(bytes: directory.bytes)
        encoder.append(presence.rawValue)
        encoder.append(acceptedAt.milliseconds)
        encoder.append(stage)
        encoder.append(Int64(revision))
        encoder.append(files: files)
        encoder.append(paths: skipped)
        if let account { encoder.append(account) }
        if let finishedAt { encoder.append(finishedAt.milliseconds) }
        if let description { encoder.append(description) }
        if let post { encoder.append(post) }
        if !departed.isEmpty { encoder.append(departed: departed) }
        if let mark {
            encoder.append(mark.inode)
            encoder.append(mark.born)
        }
    }

    static func decodeFields(from decoder: inout RecordDecoder) -> SourceRecord? {
        let id = decoder.readText()
        guard let directory = RelativePath(decoder.readBytes()) else { return nil }
        let presence = Presence(rawValue: decoder.read(UInt16.self))
        let acceptedAt = WallTime(milliseconds: decoder.read(Int64.self))
        guard let stage = decoder.readStage() else { return nil }
        var record = SourceRecord(id: id, directory: directory, account: nil, stage: stage, acceptedAt: acceptedAt)
        record.revision = Int(truncatingIfNeeded: decoder.read(Int64.self))
        record.files = decoder.readFiles()
        record.skipped = Set(decoder.readPaths())
        if presence.contains(.account) { record.account = decoder.readText() }
        if presence.contains(.finishedAt) { record.finishedAt = WallTime(milliseconds: decoder.read(Int64.self)) }
        record.isPaused = presence.contains(.paused)
        if presence.contains(.description) { record.description = decoder.readSourceDescription() }
        if presence.contains(.post) { record.post = decoder.readPost() }
        if presence.contains(.departed) { record.departed = decoder.readDeparted() }
        if presence.contains(.mark) {
            record.mark = SourceRecord.DirectoryMark(
                inode: decoder.read(UInt64.self), born: decoder.read(Int64.self))
        }
        return record
    }
}

// Never change the stages' numbers.
extension RecordEncoder {
    fileprivate mutating func append(_ stage: SourceRecord.Stage) {
        switch stage {
        case .draft: append(UInt8(0))
        case .collecting: append(UInt8(1))
        case .uploading: append(UInt8(2))
        case .committing(let commit):
            append(UInt8(3))
            append(commit)
        case .done: append(UInt8(4))
        case .failed(let error):
            append(UInt8(5))
            append(error)
        case .cancelled(let error):
            append(UInt8(6))
            append(error)
        case .rejected(let error):
            append(UInt8(7))
            append(error)
        }
    }

    private mutating func append(_ commit: SourceCommit) {
        append(commit.sourceID)
        append(Int64(commit.revision))
        append(commit.title)
        append(optional: commit.cover)
        append(UInt32(truncatingIfNeeded: commit.fileIDs.count))
        for id in commit.fileIDs { append(id) }
        append(commit.createdAt.milliseconds)
    }

    fileprivate mutating func append(_ description: SourceDescription) {
        append(description.title)
        append(UInt8(description.cover == nil ? 0 : 1))
        if let cover = description.cover { append(bytes: cover.bytes) }
        append(UInt8(description.isDraft ? 1 : 0))
    }

    fileprivate mutating func append(_ post: SourceRecord.Post) {
        append(Int64(post.revision))
        append(optional: post.url)
        append(post.description)
        append(files: post.files)
    }

    /// Appends files in the order of their names, so that equal records have equal bytes.
    fileprivate mutating func append(files: [RelativePath: ContentKey]) {
        append(UInt32(truncatingIfNeeded: files.count))
        for (name, key) in files.sorted(by: { $0.key < $1.key }) {
            append(bytes: name.bytes)
            append(key)
        }
    }

    fileprivate mutating func append(departed: [ContentKey: String]) {
        append(UInt32(truncatingIfNeeded: departed.count))
        for (key, id) in departed.sorted(by: { $0.key < $1.key }) {
            append(key)
            append(id)
        }
    }

    fileprivate mutating func append(paths: Set<RelativePath>) {
        append(UInt32(truncatingIfNeeded: paths.count))
        for path in paths.sorted() { append(bytes: path.bytes) }
    }
}

extension RecordDecoder {
    fileprivate mutating func readStage() -> SourceRecord.Stage? {
        switch read(UInt8.self) {
        case 0: .draft
        case 1: .collecting
        case 2: .uploading
        case 3: .committing(readCommit())
        case 4: .done
        case 5: .failed(readFileError())
        case 6: .cancelled(readFileError())
        case 7: .rejected(readFileError())
        default: nil
        }
    }

    private mutating func readCommit() -> SourceCommit {
        let id = readText()
        let revision = Int(truncatingIfNeeded: read(Int64.self))
        let title = readText()
        let cover = readOptionalText()
        var fileIDs: [String] = []
        for _ in 0..<readCount(ofAtLeast: 4) { fileIDs.append(readText()) }
        return SourceCommit(
            sourceID: id, revision: revision, title: title, cover: cover, fileIDs: fileIDs,
            createdAt: WallTime(milliseconds: read(Int64.self)))
    }

    fileprivate mutating func readSourceDescription() -> SourceDescription {
        SourceDescription(title: readText(), cover: readFlag() ? readPath() : nil, isDraft: readFlag())
    }

    fileprivate mutating func readPost() -> SourceRecord.Post {
        SourceRecord.Post(
            revision: Int(truncatingIfNeeded: read(Int64.self)), url: readOptionalText(),
            description: readSourceDescription(), files: readFiles())
    }

    fileprivate mutating func readFiles() -> [RelativePath: ContentKey] {
        var files: [RelativePath: ContentKey] = [:]
        // Each entry takes at least a name's length and a key.
        for _ in 0..<readCount(ofAtLeast: 20) {
            let name = readPath()
            files[name] = readContentKey()
        }
        return files
    }

    fileprivate mutating func readDeparted() -> [ContentKey: String] {
        var departed: [ContentKey: String] = [:]
        // Each entry takes at least a key and an id's length.
        for _ in 0..<readCount(ofAtLeast: 20) {
            let key = readContentKey()
            departed[key] = readText()
        }
        return departed
    }

    fileprivate mutating func readPaths() -> [RelativePath] {
        var paths: [RelativePath] = []
        for _ in 0..<readCount(ofAtLeast: 4) { paths.append(readPath()) }
        return paths
    }
}
