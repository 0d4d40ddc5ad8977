import Glibc
import Logging
import Synchronization
import SystemPackage

/// Small versions of pictures, for pages. `outbox-media` draws a small version on its first request; `thumbnails/`
/// stores the result.
final class SmallPictures: Sendable {
    /// The side in pixels: large enough for a tile on a screen of double density.
    private static let side = 480
    /// The assumed size of a small picture in bytes, for the check of free space.
    private static let largest: Int64 = 1 << 20

    private let store: Store
    private let program: String
    private let folder: Folder
    private let thread = DiskThreads(count: 1)
    /// Locked while a picture is drawn, on `thread` alone.
    private let worker = Mutex<PictureWorker?>(nil)
    /// Pictures that failed to draw, by token; not tried again before the next start.
    private let refused = Mutex<Set<Hex128>>([])
    /// Whether `outbox-media` can't be started. A lock: Swift 6.3.1's optimiser ends in an error on an `Atomic` here, since
    /// `init` throws.
    private let isBroken = Mutex(false)

    /// - Parameter program: The path of `outbox-media`.
    init(_ store: Store, program: String) throws(Errno) {
        self.store = store
        self.program = program
        folder = try store.root.folder("thumbnails")
        for name in try folder.names() where name.hasSuffix(".part") { try folder.remove(name) }
    }

    /// Removes the small versions of contents that are gone from `objects/`.
    func removeStale() {
        do throws(Errno) {
            for name in try folder.names() {
                let content = Hex128(name.prefix { $0 != "." }).flatMap { store.content(token: $0) }
                if content.map(store.objects.holds) != true { try folder.remove(name) }
            }
        } catch {
            store.logger.warning("cannot remove small pictures", metadata: ["error": "\(error)"])
        }
    }

    /// Whether files of this type may have a small version.
    static func mayShow(_ type: MediaType) -> Bool {
        switch type.showing {
        case .picture, .pictureForSome: true
        case .video, .link: false
        }
    }

    /// Returns the small version of a content, drawing it if needed. Returns nil if there is none, or if somebody removed
    /// the picture itself.
    func picture(of content: Content) async throws -> OpenFile? {
        guard let picture = try store.objects.open(content.object) else { return nil }
        let name = "\(content.token).jpg"
        if let file = try folder.openExisting(name) { return file }
        guard Self.mayShow(MediaType(content.type)), !isBroken.withLock(\.self),
            !refused.withLock({ $0.contains(content.token) })
        else { return nil }
        try store.checkSpace(for: Self.largest)
        return try await Task(executorPreference: thread) { try self.draw(picture, content, name) }.value
    }

    /// Draws one picture at a time.
    private func draw(_ picture: OpenFile, _ content: Content, _ name: String) throws -> OpenFile? {
        if let file = try folder.openExisting(name) { return file }
        let part = name + ".part"
        try folder.remove(part)
        let output = try folder.open(part, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        guard isDrawn(picture, into: output) else {
            refused.withLock { _ = $0.insert(content.token) }
            try folder.remove(part)
            store.logger.info("cannot draw a small version of a picture", metadata: ["md5": "\(content.key.md5)"])
            return nil
        }
        try folder.rename(part, into: folder, as: name)
        return output
    }

    private func isDrawn(_ picture: OpenFile, into output: OpenFile) -> Bool {
        worker.withLock { worker in
            if worker == nil { worker = PictureWorker.started(program) }
            guard let running = worker else {
                isBroken.withLock { $0 = true }
                store.logger.warning("outbox-media does not start, so pages have no small pictures; see --media-worker")
                return false
            }
            let outcome = running.draw(picture, side: Self.side, into: output)
            if outcome == .lost { worker = nil }
            return outcome == .done
        }
    }
}
