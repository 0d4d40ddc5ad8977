import CDisk
import Logging
import Synchronization
import SystemPackage

/// The receiver's storage below its root.
///
/// ```
/// lock        held (flock) by the process that uses this root
/// journal     the record of ids, received blocks, finished contents, commits
/// uploads/    one sparse data file per unfinished upload; each block is written at its offset
/// objects/    finished contents, each once, by MD5
/// files/      hard links to objects under the names the users gave them
/// portraits/  profile pictures, by the random part of their URL
/// thumbnails/ small versions of pictures, by the random part of the picture's URL; recreated if missing
/// ```
///
/// **What survives a kill** of this process at any moment: everything the server answered. The server writes a
/// block's bytes before its journal entry, and the entry before the answer. It renames and links a finished file
/// before the journal entry. After a kill between the two, the client sends the file again, and the server finds the
/// links to the same content.
///
/// **What survives a power cut**: everything the server confirmed: finished files, existing contents, commits,
/// portraits (`Store+Finishing.swift`). Blocks of unfinished uploads survive as far as the kernel wrote them back,
/// usually all but those of the last 5 to 30 seconds.
final class Store: Sendable {
    struct Limits: Sendable {
        /// The bytes that must stay free on the file system after all promised bytes have arrived.
        var freeSpaceFloor: Int64
        var maximumFileSize: Int64
        /// The most unfinished uploads per user.
        var maximumOpenUploads: Int
        /// How many different contents of a user may have the same MD5 and size: more are made only to harm.
        var mostTwins = 8
        /// The most bytes per user; nil: no limit.
        var quota: Int64?
        /// The quotas of single users, in place of ``quota``; `Int64.max` for no limit.
        var ownQuotas: @Sendable () -> [String: Int64] = { [:] }

        /// Returns the user's quota; nil: no limit.
        func quota(of user: String) -> Int64? {
            let quota = ownQuotas()[user] ?? quota
            return quota == .max ? nil : quota
        }

        var haveQuotas: Bool { quota != nil || !ownQuotas().isEmpty }
    }

    struct Books: ~Copyable {
        var journal: Journal
        var catalog: Catalog
    }

    let limits: Limits
    /// Whether the store confirms content only once the disk has it.
    let synchronizes: Bool
    let objects: ObjectStore
    let tree: FileTree
    let uploads: Folder
    let portraits: Folder
    let portraitUsers = PortraitUsers()
    let root: Folder
    let logger: Logger
    /// Seconds since 1970.
    let now: @Sendable () -> Int64
    /// Threads that digest large uploads, and blocks that must be read back. Separate from the threads that serve
    /// requests, because a few large files would otherwise block all small ones.
    let digestThreads = DiskThreads(count: 2)
    /// Of a user's uploads, so many are digested at a time.
    let digestWork = Turns(most: 2)
    /// Where the others wait: on `digestThreads` they would come before another user's.
    let digestQueue = DiskThreads(count: 1)
    /// Threads for work on a whole large file: the wait for the disk, comparison, SHA-256. Separate from the digests,
    /// for which requests wait.
    let largeFileThreads = DiskThreads(count: 4)
    /// Of a user's large files, one at a time is worked on.
    let largeWork = Turns(most: 1)
    /// The contents that are being read for their SHA-256.
    let readings = SharedWork<Hex128, Hex256?>()
    /// Rewrites the journal.
    private let journalThread = DiskThreads(count: 1)
    /// 16 MiB of memory for blocks.
    let blocks = BlockBuffers(limit: 32)

    /// Small files that lack their digests.
    let smallFiles = Batches<SmallFile>(most: Store.mostSmallFiles)
    /// Uploads that await confirmation; nil stands for a caller that waits for the disk.
    let finishing = Batches<Upload?>(most: Store.mostFinished)
    let syncFailures = Atomic(0)
    let counters = Counters()
    /// Seconds of a monotonic clock.
    let uptime: @Sendable () -> Int64
    let clock: Mutex<ClockWatch>

    /// Locked while the journal is rewritten.
    let compacting = Lock()

    /// Replaces the file system's free space, for tests.
    private let measuredSpace: (@Sendable () -> Int64)?
    private let books: Mutex<Books>
    private let lock: OpenFile

    /// Opens the storage in the directory `path`, and creates the directory if it is missing.
    init(
        path: String, limits: Limits, synchronizes: Bool = true, logger: Logger,
        now: @escaping @Sendable () -> Int64, uptime: @escaping @Sendable () -> Int64 = { disk_uptime() },
        freeSpace: (@Sendable () -> Int64)? = nil
    ) throws(StartFailure) {
        self.limits = limits
        self.synchronizes = synchronizes
        self.logger = logger
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
            // The last writes of the previous process may not be on the disk yet, and are confirmed from now on.
            if synchronizes { try root.synchronizeFileSystem() }
        } catch {
            throw .inputOutput("cannot read the storage in \(path): \(error)")
        }
        for upload in open { advance(upload) }
        recountStored()
    }

    /// Returns the free bytes of the file system above the floor; 0 if the inodes run short.
    func spaceAboveFloor() throws(Errno) -> Int64 {
        if let measuredSpace { return measuredSpace() - limits.freeSpaceFloor }
        let space = try root.space()
        return space.isShortOfInodes ? 0 : space.free - limits.freeSpaceFloor
    }

    /// Throws ``Refusal/diskFull`` if `bytes` more bytes would take the free space below the floor.
    func checkSpace(for bytes: Int64) throws {
        guard try spaceAboveFloor() >= bytes else { throw Refusal.diskFull }
    }

    var open: [Upload] { books.withLock { Array($0.catalog.uploads.values) } }

    /// Reads or changes journal and catalog. A change must append to the journal before it changes the catalog. Lock
    /// order: ``Upload`` first, then this lock; `body` must not lock an upload.
    func withBooks<Result, Failure: Error>(
        _ body: (inout Books) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        defer { compactIfLong() }
        return try books.withLock { books throws(Failure) in try body(&books) }
    }

    /// Rewrites a journal that has grown much.
    private func compactIfLong() {
        guard books.withLock({ $0.journal.takeWishForRewrite() }) else { return }
        Task(executorPreference: journalThread) {
            do throws(Errno) { try self.compactJournal() } catch {
                self.logger.error("cannot rewrite the journal", metadata: ["error": "\(error)"])
            }
        }
    }

    // MARK: Deleting

    /// Forgets these ids of `user`. Unfinished uploads lose all their blocks. Finished uploads lose only the id;
    /// their content stays. Unknown ids and ids of other users have no effect.
    /// - Returns: The number of forgotten ids.
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
            try upload.removeData(from: uploads)
        } catch {
            // The upload is gone from memory. The next start removes its file and journal entries at the latest.
            logger.warning("cannot remove an upload", metadata: ["id": "\(upload.id)", "error": "\(error)"])
        }
    }
}
