import Glibc
import Logging
import MediaTools
import PictureJobs
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

        fileprivate var operation: PictureJob.Operation {
            switch self {
            case .tile: .thumbnail(side: 480, quality: 80)
            case .cover: .compress(quality: 80, maximumSide: 1600)
            }
        }
    }

    /// Larger pictures have no small version.
    private static let mostPixels = 200_000_000
    /// Larger pictures wait for one another, so that they leave a worker to others.
    private static let usualPixels = 40_000_000
    /// A version may have as many bytes although the picture has fewer. No quota counts small versions.
    private static let alwaysSmall: Int64 = 8 << 10
    /// The assumed size of a small picture in bytes, for the check of free space.
    private static let largest: Int64 = 1 << 20

    private let store: Store
    private let worker: any PictureWorking
    private let folder: Folder
    /// One picture of each user at a time is drawn: the costly pictures of one don't hold up those of another.
    private let turns = Turns(most: 1)
    private let turnsOfLarge = Turns(most: 1)
    /// The names of versions that can't be drawn; not tried again before the next start.
    private let refused = Mutex<Set<String>>([])

    /// - Parameter worker: Draws several pictures at a time, or others would wait for a costly one.
    init(_ store: Store, worker: any PictureWorking) throws(Errno) {
        self.store = store
        self.worker = worker
        folder = try store.root.folder("thumbnails")
        for name in try folder.names() where name.hasSuffix(".part") { try folder.remove(name) }
    }

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
    /// - Parameter isWanted: Asked before the drawing begins.
    func picture(
        of content: Content, for use: Use, while isWanted: () -> Bool = { true }
    ) async throws -> OpenFile? {
        guard store.objects.holds(content) else { return nil }
        let name = use.name(of: content.token)
        if let file = try folder.openExisting(name) { return file }
        guard Self.mayShow(MediaType(content.type)), !isRefused(name) else { return nil }
        try store.checkSpace(for: Self.largest)
        return try await turns.inTurn(
            of: content.key.user, mostWaiting: RequestCounts.mostWaiting, while: isWanted
        ) { try await draw(content, use) }
    }

    private func draw(_ content: Content, _ use: Use) async throws -> OpenFile? {
        let name = use.name(of: content.token)
        if let file = try folder.openExisting(name) { return file }
        // An earlier request may have failed while this one waited.
        guard !isRefused(name), let picture = try store.objects.open(content.object) else { return nil }
        let part = name + ".part"
        try folder.remove(part)
        let output = try folder.open(part, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        do throws(PictureFailure) {
            try await perform(use.operation, on: picture, into: output)
        } catch {
            try folder.remove(part)
            if error.isThePictures { refuse(name, of: content) }
            return nil
        }
        guard try isSmall(output, beside: picture) else {
            try folder.remove(part)
            refuse(name, of: content)
            return nil
        }
        try folder.rename(part, into: folder, as: name)
        return output
    }

    private func perform(
        _ operation: PictureJob.Operation, on picture: OpenFile, into output: OpenFile
    ) async throws(PictureFailure) {
        do throws(PictureFailure) {
            _ = try await worker.perform(
                operation, on: picture.shared, into: output.shared, maximumPixels: Self.usualPixels)
        } catch {
            guard case .refused(let refusal) = error, refusal.reason == .tooManyPixels else { throw error }
            _ = try await turnsOfLarge.inTurn(of: "") { () throws(PictureFailure) in
                try await worker.perform(
                    operation, on: picture.shared, into: output.shared, maximumPixels: Self.mostPixels)
            }
        }
    }

    private func isRefused(_ name: String) -> Bool { refused.withLock { $0.contains(name) } }

    private func refuse(_ name: String, of content: Content) {
        refused.withLock { _ = $0.insert(name) }
        store.logger.info("cannot draw a small version of a picture", metadata: ["md5": "\(content.key.md5)"])
    }

    /// Whether a version was written, and spares its readers something.
    private func isSmall(_ version: OpenFile, beside picture: OpenFile) throws(Errno) -> Bool {
        let size = try version.status().size
        let most = max(Self.alwaysSmall, try picture.status().size)
        return size > 0 && size <= most
    }
}

extension PictureFailure {
    /// Whether another attempt would fail too.
    fileprivate var isThePictures: Bool {
        switch self {
        case .refused, .killedWorker: true
        case .unavailable, .failed, .cancelled: false
        }
    }
}
