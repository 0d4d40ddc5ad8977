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
    /// What the hashing thread calls once it knows the type of a file that it goes on to read.
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

    /// Counts the files that are being measured while they are hashed: each holds a descriptor, and each video has a
    /// program look into it.
    final class EarlyLooks: Sendable {
        private static let most: [MediaType.Kind: Int] = [.image: 32, .video: 2]
        private let counts = Mutex<[MediaType.Kind: Int]>([:])

        /// - Returns: whether another one may be.
        func begin(_ type: MediaType) -> Bool {
            counts.withLock { counts in
                guard counts[type.kind, default: 0] < Self.most[type.kind] ?? 0 else { return false }
                counts[type.kind, default: 0] += 1
                return true
            }
        }

        func end(_ type: MediaType) { counts.withLock { $0[type.kind, default: 1] -= 1 } }
    }

    /// Has a content looked into, unless there is nothing more to learn of it.
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
                // Thumbnails may be wanted one day.
                let isAll = isSettled && media.drawsThumbnails
                // What was written into meanwhile is no picture of this content.
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

    /// One of the files that hold a content.
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
        for record in told.compactMap({ self.record(of: $0.path) }) { report(record) }
    }

    /// A content was looked into: what waited for that goes on.
    private func end(_ key: ContentKey, _ media: any MediaExamining) {
        examinations.end(key)
        // A ledger that can't be read is no reason to remove anything.
        guard let records = try? records(of: key) else { return }
        // Everybody may have left meanwhile.
        if records.isEmpty { media.dropThumbnail(of: key) }
        for record in records where waitsForThumbnail.remove(record.path) != nil { retire(record.path) }
    }

    /// Whether a file must stay a moment longer because its thumbnail is still to be made; it is retired afterwards.
    func isHeldForThumbnail(_ record: DropRecord) -> Bool {
        guard let key = record.key, examinations.covers(key) else { return false }
        waitsForThumbnail.insert(record.path)
        return true
    }

    // MARK: Contents that go

    /// Removes the thumbnail of a content that a path has left, if it was the last, once that is durable.
    func releaseThumbnail(of key: ContentKey?) {
        guard let key, let media = parts.media else { return }
        commit([]) { $0.dropThumbnail(of: key, media) }
    }

    /// Removes thumbnails that a kill, or `prune` without an agent, left of contents nobody has any more.
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
            // A ledger that can't be read is no reason to remove anything.
            ledgerFailed(error)
        }
    }

    // MARK: Who holds a content

    /// What is known of all paths that hold a content.
    func records(of key: ContentKey) throws(LedgerError) -> [DropRecord] {
        let stored = try parts.ledger.drops(of: key)
        let paths = Set(machine.waiters(of: key)).union(unsaved.paths(of: key)).union(stored)
        return paths.compactMap { record(of: $0) }.filter { $0.key == key }
    }

    /// What is known of one of the paths that hold a content; nil where none does.
    private func anyRecord(of key: ContentKey) throws(LedgerError) -> DropRecord? {
        let paths = [machine.waiters(of: key).first, unsaved.paths(of: key).first]
        if let record = paths.lazy.compactMap(\.self).compactMap({ self.record(of: $0) }).first { return record }
        let stored = try parts.ledger.anyDrop(of: key)
        guard let stored, unsaved.covers(stored.path) else { return stored }
        // That one is just changing: another may hold it.
        return try records(of: key).first
    }
}

extension DropRecord {
    /// Whether there may be something to learn of its content, or a thumbnail to be made.
    func wantsExamination(withThumbnail: Bool) -> Bool {
        guard key != nil, let type, type.kind != .other, facts == nil || (withThumbnail && !isExamined) else {
            return false
        }
        if case .moved = disposal { return true }
        return hasFile
    }
}
