import Intake
import Ledger
import LinuxSystem
import Synchronization
import UploadCore

// Sizes and thumbnails of pictures and videos. The agent determines them beside the upload, which never waits for
// them.
//
// A file is measured while it is hashed. If the measurement is quick enough, the registration carries the result.
// Thumbnails are drawn afterwards. If a program was missing, both are retried at the next start.
extension Uploader {
    /// The function that the hashing thread calls as soon as it knows the type of a file, before it reads on.
    var earlyLook: (@Sendable (RelativePath, FileIdentity, MediaType, SharedDescriptor) -> Void)? {
        guard let media = parts.media else { return nil }
        let looks = earlyLooks
        return { [weak self] path, identity, type, file in
            guard looks.begin(type) else { return }
            Task {
                let facts = await media.measure(file, type)
                looks.end(type)
                guard let facts, let after = try? FileStatus(of: file.rawValue), FileIdentity(after) == identity else {
                    return
                }
                self?.run { $0.handle(.measured(path, identity, facts)) }
            }
        }
    }

    /// Limits how many files are measured while they are hashed. Each of them holds a descriptor, and each video
    /// needs a program.
    final class EarlyLooks: Sendable {
        private static let most: [MediaType.Kind: Int] = [.image: 32, .video: 2]
        private let counts = Mutex<[MediaType.Kind: Int]>([:])

        /// - Returns: whether another file of this kind may be measured now.
        func begin(_ type: MediaType) -> Bool {
            counts.withLock { counts in
                guard counts[type.kind, default: 0] < Self.most[type.kind] ?? 0 else { return false }
                counts[type.kind, default: 0] += 1
                return true
            }
        }

        func end(_ type: MediaType) { counts.withLock { $0[type.kind, default: 1] -= 1 } }
    }

    /// Queues the content of a record for examination, unless the examination would add nothing.
    func examine(_ record: DropRecord) {
        guard let media = parts.media, record.wantsExamination(withThumbnail: media.drawsThumbnails),
            let key = record.key
        else { return }
        examinations.add(key)
        examineNext(media)
    }

    private func examineNext(_ media: any MediaExamining) {
        while !hasStopped, let key = examinations.begin() {
            guard let (record, file) = openFile(of: key, media) else {
                end(key, media)
                continue
            }
            let type = record.type ?? .other
            let identity = record.identity
            Task { [weak self] in
                let measured = record.facts == nil ? await media.measure(file, type) : record.facts
                let isSettled = await media.drawThumbnail(of: file, type, key: key, duration: measured?.duration)
                // Without thumbnails, the content stays unexamined, since thumbnails may be enabled later.
                let isAll = isSettled && media.drawsThumbnails
                // If the file changed meanwhile, its thumbnail does not show this content.
                let after = (try? FileStatus(of: file.rawValue)).map(FileIdentity.init)
                let isSame = after.map { identity?.isSameFile(as: $0) == true } ?? false
                self?.run { $0.examined(key, isSame ? measured : nil, isAll: isAll, isSame: isSame, media) }
            }
        }
    }

    private func examined(
        _ key: ContentKey, _ facts: MediaFacts?, isAll: Bool, isSame: Bool, _ media: any MediaExamining
    ) {
        if hasStopped { return }
        if let facts { learn(facts, of: key, isAll: isAll) }
        if !isSame { media.dropThumbnail(of: key) }
        end(key, media)
        if !isSame, let other = try? records(of: key).first { examine(other) }
        examineNext(media)
    }

    /// Opens one of the files that hold a content.
    private func openFile(of key: ContentKey, _ media: any MediaExamining) -> (DropRecord, SharedDescriptor)? {
        for record in (try? records(of: key)) ?? [] {
            guard record.wantsExamination(withThumbnail: media.drawsThumbnails),
                let (file, status) = try? parts.files.open(record.path),
                record.identity?.isSameFile(as: FileIdentity(status)) == true
            else { continue }
            return (record, file)
        }
        return nil
    }

    func learn(_ facts: MediaFacts, of key: ContentKey, isAll: Bool) {
        var writes: [LedgerWrite] = []
        var told: [DropRecord] = []
        for var record in (try? records(of: key)) ?? [] where record.facts != facts || record.isExamined != isAll {
            if record.facts != facts && !record.isTrace { told.append(record) }
            record.facts = facts
            record.isExamined = isAll
            writes.append(book.keep(record))
        }
        commitAside(writes)
        for record in told.compactMap({ self.record(of: $0.path) }) { announce(record) }
    }

    /// Ends the examination of a content. Files that waited for it leave the outbox.
    private func end(_ key: ContentKey, _ media: any MediaExamining) {
        examinations.end(key)
        // If the ledger cannot be read, remove nothing.
        guard let records = try? records(of: key) else { return }
        // All paths may have left the content meanwhile.
        if records.isEmpty { media.dropThumbnail(of: key) }
        for record in records where waitsForThumbnail.remove(record.path) != nil { retire(record.path) }
    }

    /// Whether a file must stay in the outbox until its thumbnail is drawn. If so, the file is retired afterwards.
    func isHeldForThumbnail(_ record: DropRecord) -> Bool {
        guard let key = record.key, examinations.covers(key) else { return false }
        waitsForThumbnail.insert(record.path)
        return true
    }

    // MARK: Removed contents

    /// After all pending commits, removes the thumbnail of a content that a path left, if no other path holds the
    /// content.
    func releaseThumbnail(of key: ContentKey?) {
        guard let key, let media = parts.media else { return }
        commit([]) { $0.dropThumbnail(of: key, media) }
    }

    /// Removes thumbnails of contents that no path holds. A kill or `prune` without an agent leaves such thumbnails.
    func sweepThumbnails() {
        guard let media = parts.media else { return }
        Task { [weak self] in
            let keys = await media.thumbnails()
            for start in stride(from: 0, to: keys.count, by: 256) {
                await self?.dropThumbnails(of: keys[start..<min(start + 256, keys.count)], media)
            }
        }
    }

    private func dropThumbnails(of keys: ArraySlice<ContentKey>, _ media: any MediaExamining) {
        for key in keys where !hasStopped { dropThumbnail(of: key, media) }
    }

    private func dropThumbnail(of key: ContentKey, _ media: any MediaExamining) {
        if examinations.covers(key) { return }
        do {
            if try anyRecord(of: key) == nil { media.dropThumbnail(of: key) }
        } catch {
            // If the ledger cannot be read, remove nothing.
            ledgerFailed(error)
        }
    }

    // MARK: Paths of a content

    /// Returns the records of all paths that hold a content.
    func records(of key: ContentKey) throws(LedgerError) -> [DropRecord] {
        let stored = try parts.ledger.drops(of: key)
        let paths = Set(machine.waiters(of: key)).union(unsaved.paths(of: key)).union(stored)
        return paths.compactMap { record(of: $0) }.filter { $0.key == key }
    }

    /// Returns the record of one path that holds a content; `nil` if no path does.
    private func anyRecord(of key: ContentKey) throws(LedgerError) -> DropRecord? {
        let paths = [machine.waiters(of: key).first, unsaved.paths(of: key).first]
        if let record = paths.lazy.compactMap(\.self).compactMap({ self.record(of: $0) }).first { return record }
        let stored = try parts.ledger.anyDrop(of: key)
        guard let stored, unsaved.covers(stored.path) else { return stored }
        // The stored record is being changed. Look for another path with this content.
        return try records(of: key).first
    }
}

extension DropRecord {
    /// Whether an examination may add facts about the content, or draw its thumbnail.
    func wantsExamination(withThumbnail: Bool) -> Bool {
        guard key != nil, let type, type.kind != .other, facts == nil || (withThumbnail && !isExamined) else {
            return false
        }
        if case .moved = disposal { return true }
        return hasFile
    }
}
