import CLinux
import Glibc
public import LinuxSystem
public import Logging
import PictureJobs
import SystemPackage
public import UploadCore

/// Finds out what intake wants to know of a file: its size in pixels, its length in time, what it looks like. None of it
/// is needed for the upload, so nothing here fails: what is not known is nil.
public final class MediaExaminer: Sendable {
    /// The side of a thumbnail.
    public static let thumbnailSide = 150
    private static let thumbnailQuality = 85
    /// The largest picture a thumbnail is made of: phones take 200 million pixels.
    private static let mostPixels = 250_000_000
    /// A size is told from the header alone, so it is told whatever it is.
    private static let mostPixelsMeasured = 1 << 40
    /// Formats the picture worker reads; BMP, JPEG XL and camera raw files have no size and no thumbnail.
    private static let pictures: Set<String> = [
        "image/jpeg", "image/png", "image/gif", "image/webp", "image/heic", "image/heif", "image/heic-sequence",
        "image/avif", "image/tiff",
    ]

    private let pictures: any PictureWorking
    private let videos: VideoTools
    private let thumbnails: ThumbnailFolder?
    private let logger: Logger

    /// - Parameters:
    ///   - pictures: measures and draws pictures; give it one that works in the background.
    ///   - videos: looks into videos.
    ///   - thumbnails: absolute path of the directory for thumbnails, made when needed; nil: none are made.
    public convenience init(pictures: any PictureWorking, videos: VideoTools, thumbnails: String?, logger: Logger) {
        self.init(
            pictures: pictures, videos: videos, thumbnails: thumbnails.map { ThumbnailFolder(path: $0) }, logger: logger
        )
    }

    init(pictures: any PictureWorking, videos: VideoTools, thumbnails: ThumbnailFolder?, logger: Logger) {
        self.pictures = pictures
        self.videos = videos
        self.thumbnails = thumbnails
        self.logger = logger
    }

    /// Whether thumbnails are made.
    public var drawsThumbnails: Bool { thumbnails != nil }

    /// Whether anything can be found out about files of this type.
    public static func takes(_ type: MediaType) -> Bool { pictures.contains(type.mime) || VideoTools.takes(type) }

    /// Width, height and duration.
    ///
    /// - Parameters:
    ///   - file: open for reading; its offset is not used.
    ///   - type: as its first bytes tell.
    /// - Returns: what is known, and whether asking again would answer the same.
    public func facts(of file: SharedDescriptor, _ type: MediaType) async -> (facts: MediaFacts, isFinal: Bool) {
        if VideoTools.takes(type) { return await videoFacts(of: file, type) }
        guard Self.pictures.contains(type.mime) else { return (MediaFacts(), true) }
        do {
            let size = try await pictures.perform(
                .measure, on: file, into: nil, maximumPixels: Self.mostPixelsMeasured)
            return (MediaFacts(width: size.width, height: size.height), true)
        } catch {
            note("a picture could not be measured", error.message)
            return (MediaFacts(), error.isFinal)
        }
    }

    private func videoFacts(of file: SharedDescriptor, _ type: MediaType) async -> (facts: MediaFacts, isFinal: Bool) {
        do throws(VideoFailure) {
            let facts = try await videos.facts(of: file, type: type)
            return (MediaFacts(width: facts.width, height: facts.height, duration: facts.duration), true)
        } catch {
            note("a video could not be looked into", error.message)
            return (MediaFacts(), error.isFinal)
        }
    }

    /// Makes `<thumbnails>/<key>.jpg`, 150×150, cropped around the centre: whole or not at all. Where it is there
    /// already, nothing is done.
    ///
    /// - Parameters:
    ///   - file: open for reading; its offset is not used.
    ///   - type: as its first bytes tell.
    ///   - key: the content's key.
    ///   - duration: of a video, where it is known.
    public func makeThumbnail(
        of file: SharedDescriptor, _ type: MediaType, key: ContentKey, duration: Double? = nil
    ) async -> ThumbnailOutcome {
        guard let thumbnails else { return .none("no thumbnails are made") }
        guard Self.takes(type) else { return .none("no thumbnails are made of \(type.mime)") }
        if await thumbnails.has(key) { return .there }
        do throws(ThumbnailFailure) {
            let draft = try await thumbnails.newDraft()
            do throws(ThumbnailFailure) {
                try await draw(picture(of: file, type, duration: duration), into: draft.file)
                try await thumbnails.keep(draft, as: key)
            } catch {
                await thumbnails.discard(draft)
                throw error
            }
            return .there
        } catch {
            note("no thumbnail could be made", error.message)
            return error.isFinal ? .none(error.message) : .notNow(error.message)
        }
    }

    /// The contents that have a thumbnail, in no order.
    public func thumbnailKeys() async -> [ContentKey] { await thumbnails?.keys ?? [] }

    /// Removes a thumbnail; one that is not there is no error.
    public func removeThumbnail(of key: ContentKey) async {
        await thumbnails?.remove(key)
    }

    private func draw(_ picture: SharedDescriptor, into output: SharedDescriptor) async throws(ThumbnailFailure) {
        let job = PictureJob.Operation.thumbnail(side: Self.thumbnailSide, quality: Self.thumbnailQuality)
        do throws(PictureFailure) {
            _ = try await pictures.perform(job, on: picture, into: output, maximumPixels: Self.mostPixels)
        } catch {
            throw ThumbnailFailure(message: error.message, isFinal: error.isFinal)
        }
    }

    /// The picture a thumbnail is made of: the file itself, or one out of a video.
    private func picture(
        of file: SharedDescriptor, _ type: MediaType, duration: Double?
    ) async throws(ThumbnailFailure) -> SharedDescriptor {
        guard VideoTools.takes(type) else { return file }
        let frame = try Self.memoryFile()
        do throws(VideoFailure) {
            try await videos.frame(of: file, type: type, duration: duration, into: frame)
            return frame
        } catch {
            throw ThumbnailFailure(message: error.message, isFinal: error.isFinal)
        }
    }

    /// A file that is nowhere but in memory (man 2 memfd_create); its length is bounded by whoever writes it.
    private static func memoryFile() throws(ThumbnailFailure) -> SharedDescriptor {
        do {
            let raw = try retryingOnInterrupt { outbox_memory_file("outbox-frame") }
            return SharedDescriptor(Descriptor(owning: raw))
        } catch {
            throw ThumbnailFailure(message: "memfd_create: \(error)", isFinal: false)
        }
    }

    private func note(_ what: Logger.Message, _ reason: String) {
        logger.debug(what, metadata: ["reason": "\(reason)"])
    }
}

extension PictureFailure {
    /// Whether asking again would answer the same, as far as is known.
    public var isFinal: Bool {
        switch self {
        case .refused, .killedWorker: true
        case .unavailable, .failed, .cancelled: false
        }
    }

    /// For people, one line.
    public var message: String {
        switch self {
        case .refused(let refusal): refusal.message
        case .killedWorker(let reason): "the picture worker did not survive it: \(reason)"
        case .unavailable(let reason), .failed(let reason): reason
        case .cancelled: "it was cancelled"
        }
    }
}

extension VideoFailure {
    /// For people, one line.
    public var message: String {
        switch self {
        case .refused(let reason), .missing(let reason), .failed(let reason): reason
        case .cancelled: "it was cancelled"
        }
    }
}
