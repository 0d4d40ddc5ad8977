import CDisk
import Logging
import Synchronization
import SystemPackage

/// The receiver's storage below its root.
///
/// ```
/// lock        held (flock) by the process that uses this root
/// journal     what is known: ids, blocks that arrived, finished contents, commits
/// uploads/    one sparse data file per unfinished upload; blocks are written where they belong
/// objects/    finished contents, each once, by MD5
/// files/      hard links to objects under the names the users gave them
/// portraits/  profile pictures, by the random part of their URL
/// thumbnails/ small versions of pictures, by the random part of the picture's URL; made again where they are missing
/// ```
///
/// **What survives a kill** of this process at any moment: everything that was answered. The bytes of a block are
/// written before its journal entry, the entry before the answer; a finished file is renamed and linked before the
/// journal says so (if the kill falls between the two, the client sends the file again and the names are found
/// taken by the same content).
///
/// **What survives a power cut**: everything that was confirmed: finished files, contents called existing, commits,
/// portraits (`Store+Finishing.swift`). Blocks of unfinished uploads survive as far as the kernel wrote them back,
/// usually all but the last 5 to 30 seconds.
final class Store: Sendable {
    struct Limits: Sendable {
        /// Bytes that must stay free on the file system after everything promised has arrived.
        var freeSpaceFloor: Int64
        var maximumFileSize: Int64
        /// Unfinished uploads one user may have.
        var maximumOpenUploads: Int
        /// Bytes one user may store; nil: any number.
        var quota: Int64?
    }

    struct Books: ~Copyable {
        var journal: Journal
        var catalog: Catalog
    }

    let limits: Limits
    /// Whether what is confirmed is on the disk itself.
    let synchronizes: Bool
    let objects: ObjectStore
    let tree: FileTree
    let uploads: Folder
    let portraits: Folder
    let root: Folder
    let logger: Logger
    let requests: RequestLog
    /// Seconds since 1970.
    let now: @Sendable () -> Int64
    /// Reads back what arrived out of order; apart from the threads that serve requests, or a few large files would
    /// stop all small ones.
    let digestThreads = DiskThreads(count: 2)

    /// Uploads on their way to being confirmed; nil for somebody who waits for the disk.
    let finishing = Batches<Upload?>()
    /// Confirmed contents that may be stored for another user as well.
    let sharing = Batches<Shareable>()
    let syncFailures = Atomic(0)
    /// Seconds, from a clock that nobody sets.
    let uptime: @Sendable () -> Int64
    let clock: Mutex<ClockWatch>

    /// Held while the journal is written anew.
    let compacting = Mutex(())

    /// Stands in for what the file system says of its free space.
    private let measuredSpace: (@Sendable () -> Int64)?
    private let books: Mutex<Books>
    private let lock: OpenFile

    /// Opens the storage in the directory `path`, creating it when missing.
    init(
        path: String, limits: Limits, synchronizes: Bool = true, logger: Logger,
        now: @escaping @Sendable () -> Int64, uptime: @escaping @Sendable () -> Int64 = { disk_uptime() },
        freeSpace: (@Sendable () -> Int64)? = nil
    ) throws(StartFailure) {
        self.limits = limits
        self.synchronizes = synchronizes
        self.logger = logger
        requests = RequestLog(logger)
        self.now = now
        self.uptime = uptime
        measuredSpace = freeSpace
        clock = Mutex(ClockWatch(time: now(), uptime: uptime()))
        do throws(Errno) {
            root = try Folder.root(at: path)
        } catch {
            throw .cannotCreate("cannot create or open \(path): \(error)")
        }
        do throws(Errno) {
            lock = try root.lock("lock")
        } catch .wouldBlock {
            throw .inUse("another receiver is using \(path)")
        } catch {
            throw .cannotCreate("cannot lock \(path)/lock: \(error)")
        }
        do throws(Errno) {
            objects = try ObjectStore(root)
            tree = try FileTree(root, objects: objects)
            uploads = try root.folder("uploads")
            portraits = try root.folder("portraits")
            for name in try portraits.names() where name.hasSuffix(".part") { try portraits.remove(name) }
            books = Mutex(try Recovery(root: root, uploads: uploads, logger: logger, now: now()).run())
            // What the process before this one wrote last may not be on the disk yet, and is confirmed from now on.
            if synchronizes { try root.synchronizeFileSystem() }
        } catch {
            throw .inputOutput("cannot read the storage in \(path): \(error)")
        }
        for upload in open { advance(upload) }
        recountStored()
    }

    /// Free bytes of the file system beyond those that must stay free.
    func spaceAboveFloor() throws(Errno) -> Int64 {
        if let measuredSpace { return measuredSpace() - limits.freeSpaceFloor }
        return try root.freeSpace() - limits.freeSpaceFloor
    }

    /// Throws where so many bytes would take the free space under the floor.
    func checkSpace(for bytes: Int64) throws {
        guard try spaceAboveFloor() >= bytes else { throw Refusal.diskFull }
    }

    var open: [Upload] { books.withLock { Array($0.catalog.uploads.values) } }

    /// Reads or changes what is known. What changes the catalog appends to the journal first. Never takes the lock
    /// of an ``Upload``: that one is taken before this.
    func withBooks<Result>(_ body: (inout Books) throws -> sending Result) rethrows -> sending Result {
        try books.withLock { books in try body(&books) }
    }

    /// Appends all of these, or throws.
    func appendToJournal(_ entries: [JournalEntry]) throws(Errno) {
        let outcome: Result<Void, Errno> = books.withLock { books in
            do throws(Errno) { return .success(try books.journal.append(entries)) } catch { return .failure(error) }
        }
        try outcome.get()
    }

    // MARK: Forgetting

    /// Forgets these ids of `user`: unfinished uploads with all their blocks, and finished ones as ids only; what was
    /// confirmed stays. Ids that are unknown, or somebody else's, change nothing.
    /// - Returns: How many were forgotten.
    func delete(_ ids: [Hex128], user: String) throws -> Int {
        var count = 0
        for id in ids {
            let upload = withBooks { $0.catalog.uploads[id] }
            let isOpen = upload?.plan.user == user
            if let upload, isOpen { drop(upload) }
            let wasFinished = try withBooks { books in
                guard books.catalog.finished[id]?.user == user else { return false }
                try books.journal.append([.forgotten(id)])
                books.catalog.forget(id)
                return true
            }
            if isOpen || wasFinished { count += 1 }
        }
        return count
    }

    func drop(_ upload: Upload) {
        guard upload.drop() else { return }
        do {
            try withBooks { books in
                books.catalog.remove(upload)
                try books.journal.append([.forgotten(upload.id)])
            }
            try uploads.remove(upload.dataName)
        } catch {
            // The upload is gone from memory; its file and its journal lines go at the next start at the latest.
            logger.warning("cannot remove an upload", metadata: ["id": "\(upload.id)", "error": "\(error)"])
        }
    }
}
