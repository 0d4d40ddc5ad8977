import Ledger
import LinuxSystem
import Synchronization
import UploadCore

// Sizes of pictures and videos, and their thumbnails: learned beside the upload, which never waits for them.
//
// A file is measured while it is hashed, so that the server is told with the registration where that is quick enough.
// Its thumbnail is made afterwards, one content after the other. Both are tried again with the next start where they
// could not be had for want of tools.
extension Uploader {
    /// Files that may be measured while they are hashed; each holds a descriptor.
    private static let mostEarlyLooks = 32

    /// What the hashing thread calls once it knows the type of a file that it goes on to read.
    var earlyLook: (@Sendable (RelativePath, FileIdentity, MediaType, SharedDescriptor) -> Void)? {
        guard let media = parts.media else { return nil }
        let looks = earlyLooks
        return { [weak self] path, identity, type, file in
            guard type.kind != .other, looks.begin() else { return }
            Task {
                let facts = await media.measure(file, type)
                looks.end()
                if let facts { self?.run { $0.measured(path, identity, facts) } }
            }
        }
    }

    /// Counts the files that are being measured while they are hashed.
    final class EarlyLooks: Sendable {
        private let count = Mutex(0)

        /// - Returns: whether another one may be.
        func begin() -> Bool {
            count.withLock { count in
                if count == Uploader.mostEarlyLooks { return false }
                count += 1
                return true
            }
        }

        func end() { count.withLock { $0 -= 1 } }
    }

    private func measured(_ path: RelativePath, _ identity: FileIdentity, _ facts: MediaFacts) {
        if hashing[path]?.identity == identity {
            earlyFacts[path] = (identity, facts)
        } else if let record = record(of: path), let key = record.key, record.identity == identity {
            learn(facts, of: key, isAll: record.isExamined)
        }
    }

    /// What is known of a content that is just being accepted: measured while it was hashed, or with another path.
    func takeFacts(of key: ContentKey, into record: inout DropRecord) {
        let early = earlyFacts.removeValue(forKey: record.path)
        guard parts.media != nil, !record.isExamined, record.type?.kind != .other else { return }
        if let early, early.identity == record.identity { record.facts = early.facts }
        guard let other = records(of: key).first(where: { $0.facts != nil }) else { return }
        record.facts = other.facts
        record.isExamined = other.isExamined
    }

    /// Has a content looked into, unless there is nothing more to learn of it.
    func examine(_ record: DropRecord) {
        guard let media = parts.media, record.wantsExamination, let key = record.key else { return }
        examinations.add(key)
        examineNext(media)
    }

    private func examineNext(_ media: any MediaExamining) {
        while let key = examinations.begin() {
            guard let (record, file) = openFile(of: key) else {
                end(key, media)
                continue
            }
            let type = record.type ?? .other
            Task { [weak self] in
                let measured = record.facts == nil ? await media.measure(file, type) : record.facts
                let isSettled = await media.drawThumbnail(
                    of: file, type, key: key, duration: measured?.duration)
                self?.run { uploader in
                    if let measured { uploader.learn(measured, of: key, isAll: isSettled) }
                    uploader.end(key, media)
                    uploader.examineNext(media)
                }
            }
        }
    }

    /// One of the files that hold a content.
    private func openFile(of key: ContentKey) -> (DropRecord, SharedDescriptor)? {
        for record in records(of: key) where record.wantsExamination {
            guard let (file, status) = try? parts.files.open(record.path),
                record.identity?.isSameFile(as: FileIdentity(status)) == true
            else { continue }
            return (record, file)
        }
        return nil
    }

    /// What is known of all paths that hold a content.
    private func records(of key: ContentKey) -> [DropRecord] {
        let stored = (try? parts.ledger.drops(of: key)) ?? []
        let paths = Set(machine.waiters(of: key)).union(unsaved.paths(of: key)).union(stored)
        return paths.compactMap { record(of: $0) }.filter { $0.key == key }
    }

    private func learn(_ facts: MediaFacts, of key: ContentKey, isAll: Bool) {
        var writes: [LedgerWrite] = []
        var told: [DropRecord] = []
        for var record in records(of: key) where record.facts != facts || record.isExamined != isAll {
            if record.facts != facts && !record.isTrace { told.append(record) }
            record.facts = facts
            record.isExamined = isAll
            writes.append(keep(record))
        }
        if writes.isEmpty { return }
        process([], writes: writes)
        for record in told.compactMap({ self.record(of: $0.path) }) { report(record) }
    }

    /// A content was looked into: what waited for that goes on.
    private func end(_ key: ContentKey, _ media: any MediaExamining) {
        examinations.end(key)
        let records = records(of: key)
        // Everybody may have left meanwhile.
        if records.isEmpty { media.dropThumbnail(of: key) }
        for record in records { retire(record.path) }
    }

    /// Whether a file must stay a moment longer because its thumbnail is still to be made.
    func isBeingExamined(_ record: DropRecord) -> Bool { record.key.map(examinations.covers) ?? false }

    /// Removes the thumbnail of a content that a path has left, if it was the last, once that is durable.
    func releaseThumbnail(of key: ContentKey?) {
        guard let key, let media = parts.media else { return }
        commit([]) { uploader in
            if !uploader.examinations.covers(key) && uploader.records(of: key).isEmpty {
                media.dropThumbnail(of: key)
            }
        }
    }
}

extension DropRecord {
    /// Whether there may be something to learn of its content, or a thumbnail to be made.
    var wantsExamination: Bool {
        guard key != nil, !isExamined, let type, type.kind != .other else { return false }
        if case .moved = disposal { return true }
        return hasFile
    }
}
