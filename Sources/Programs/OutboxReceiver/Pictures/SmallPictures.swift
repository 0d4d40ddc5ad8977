import Glibc
import Logging
import Synchronization
import SystemPackage

/// Small versions of pictures, for pages. `outbox-media` draws a small version on its first request; `thumbnails/`
/// stores the result.
final class SmallPictures: Sendable {
    /// What a small version is for.
    enum Use: CaseIterable {
        /// A square of 480 pixels, cropped around the centre: a tile on a screen of double density.
        case tile
        /// The whole picture with sides up to 1,600 pixels: the cover of a post.
        case cover

        /// The name of the version, in `thumbnails/` and in URLs.
        func name(of token: Hex128) -> String { "\(token)\(self == .cover ? "-cover" : "").jpg" }

        fileprivate var operation: [String] {
            switch self {
            case .tile: ["thumbnail", "480", "80"]
            case .cover: ["compress", "80", "1600"]
            }
        }
    }

    /// A version may have as many bytes although the picture has fewer. No quota counts small versions.
    private static let alwaysSmall: Int64 = 8 << 10
    /// The assumed size of a small picture in bytes, for the check of free space.
    private static let largest: Int64 = 1 << 20

    private let store: Store
    private let program: String
    private let folder: Folder
    private let thread = DiskThreads(count: 1)
    /// Locked while a picture is drawn, on `thread` alone.
    private let worker = Mutex<PictureWorker?>(nil)
    /// The names of versions that failed to draw; not tried again before the next start.
    private let refused = Mutex<Set<String>>([])
    /// Whether `outbox-media` can't be started. A lock: Swift 6.3.1's optimiser ends in an error on an `Atomic` here, since
    /// `init` throws.
    private let isBroken = Mutex(false)
    private let isStopped = Mutex(false)

    /// - Parameter program: The path of `outbox-media`.
    init(_ store: Store, program: String) throws(Errno) {
        self.store = store
        self.program = program
        folder = try store.root.folder("thumbnails")
        for name in try folder.names() where name.hasSuffix(".part") { try folder.remove(name) }
    }

    /// Draws no more, so that the receiver can end.
    func stop() { isStopped.withLock { $0 = true } }

    /// Removes the small versions of contents that are gone from `objects/`.
    func removeStale() {
        do throws(Errno) {
            for name in try folder.names() {
                let content = Hex128(name.prefix(32)).flatMap { store.content(token: $0) }
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
    func picture(of content: Content, for use: Use) async throws -> OpenFile? {
        guard let picture = try store.objects.open(content.object) else { return nil }
        let name = use.name(of: content.token)
        if let file = try folder.openExisting(name) { return file }
        guard Self.mayShow(MediaType(content.type)), !isBroken.withLock(\.self),
            !refused.withLock({ $0.contains(name) })
        else { return nil }
        try store.checkSpace(for: Self.largest)
        return try await Task(executorPreference: thread) { try self.draw(picture, content, use) }.value
    }

    /// Draws one picture at a time.
    private func draw(_ picture: OpenFile, _ content: Content, _ use: Use) throws -> OpenFile? {
        let name = use.name(of: content.token)
        if let file = try folder.openExisting(name) { return file }
        if isStopped.withLock(\.self) { return nil }
        let part = name + ".part"
        try folder.remove(part)
        let output = try folder.open(part, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        guard isDrawn(picture, use, into: output), try isSmall(output, beside: picture) else {
            refused.withLock { _ = $0.insert(name) }
            try folder.remove(part)
            store.logger.info("cannot draw a small version of a picture", metadata: ["md5": "\(content.key.md5)"])
            return nil
        }
        try folder.rename(part, into: folder, as: name)
        return output
    }

    /// Whether a version was written, and spares its readers something.
    private func isSmall(_ version: OpenFile, beside picture: OpenFile) throws(Errno) -> Bool {
        let size = try version.status().size
        let most = max(Self.alwaysSmall, try picture.status().size)
        return size > 0 && size <= most
    }

    private func isDrawn(_ picture: OpenFile, _ use: Use, into output: OpenFile) -> Bool {
        worker.withLock { worker in
            if worker == nil { worker = PictureWorker.started(program) }
            guard let running = worker else {
                isBroken.withLock { $0 = true }
                store.logger.warning("outbox-media does not start, so pages have no small pictures; see --media-worker")
                return false
            }
            let outcome = running.draw(picture, use.operation, into: output)
            if outcome == .lost { worker = nil }
            return outcome == .done
        }
    }
}
