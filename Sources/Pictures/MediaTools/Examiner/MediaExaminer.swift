import CLinux
import Glibc
public import LinuxSystem
public import Logging
import PictureJobs
public import UploadCore

/// Determines what intake wants to know about a file: size in pixels, duration, and a thumbnail. Uploads need none of
/// these, so nothing here fails: unknown values are nil.
public final class MediaExaminer: Sendable {
    /// Side of a thumbnail, in pixels.
    public static let thumbnailSide = 150
    private static let thumbnailQuality = 85
    /// Maximum pixels of a picture for a thumbnail: phones take pictures of 200 million pixels.
    private static let mostPixels = 250_000_000
    /// Maximum pixels of a picture to measure. Practically unlimited, because only the header is read.
    private static let mostPixelsMeasured = 1 << 40
    /// Formats the picture worker reads. BMP, JPEG XL and camera raw files get no size and no thumbnail.
    private static let pictures: Set<String> = [
        "image/jpeg", "image/png", "image/gif", "image/webp", "image/heic", "image/heif", "image/heic-sequence",
        "image/avif", "image/tiff",
    ]

    private let pictures: any PictureWorking
    private let videos: VideoTools
    private let thumbnails: ContentFolder?
    private let logger: Logger

    /// - Parameters:
    ///   - pictures: Measures and draws pictures; should work in the background.
    ///   - videos: Examines videos.
    ///   - thumbnails: Absolute path of the directory for thumbnails, created when needed; nil: no thumbnails.
    public convenience init(pictures: any PictureWorking, videos: VideoTools, thumbnails: String?, logger: Logger) {
        self.init(
            pictures: pictures, videos: videos, thumbnails: thumbnails.map { ContentFolder(thumbnails: $0) },
            logger: logger
        )
    }

    init(pictures: any PictureWorking, videos: VideoTools, thumbnails: ContentFolder?, logger: Logger) {
        self.pictures = pictures
        self.videos = videos
        self.thumbnails = thumbnails
        self.logger = logger
    }

    /// Whether thumbnails are drawn.
    public var drawsThumbnails: Bool { thumbnails != nil }

    /// The thread of the thumbnail folder: tasks that examine files switch threads least on it. nil without thumbnails.
    public var executor: (any TaskExecutor)? { thumbnails?.thread }

    /// Whether files of this type can be examined.
    public static func takes(_ type: MediaType) -> Bool { pictures.contains(type.mime) || VideoTools.takes(type) }

    /// Width, height and duration.
    ///
    /// - Parameters:
    ///   - file: Open for reading; its offset is not used.
    ///   - type: The type detected from the first bytes.
    /// - Returns: The known facts, and whether another attempt would give the same answer.
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
            note("a video could not be examined", error.message)
            return (MediaFacts(), error.isFinal)
        }
    }

    /// Creates `<thumbnails>/<key>.jpg`, 150×150, cropped around the centre, atomically. Does nothing if the thumbnail
    /// exists.
    ///
    /// - Parameters:
    ///   - file: Open for reading; its offset is not used.
    ///   - type: The type detected from the first bytes.
    ///   - key: The content's key.
    ///   - duration: Duration of a video in seconds, if known.
    public func makeThumbnail(
        of file: SharedDescriptor, _ type: MediaType, key: ContentKey, duration: Double? = nil
    ) async -> ThumbnailOutcome {
        guard let thumbnails else { return .none("thumbnails are off") }
        guard Self.takes(type) else { return .none("thumbnails of \(type.mime) are not supported") }
        do throws(ContentFolderFailure) {
            guard let draft = try await thumbnails.newDraft(for: key) else { return .there }
            do throws(ContentFolderFailure) {
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

    /// Opens the thumbnail of a content for reading; nil if there is none. Blocks.
    public func thumbnail(of key: ContentKey) -> SharedDescriptor? { thumbnails?.open(key) }

    /// The keys of all contents with a thumbnail, unordered.
    public func thumbnailKeys() async -> [ContentKey] { await thumbnails?.keys ?? [] }

    /// Removes a thumbnail. A missing thumbnail is no error.
    public func removeThumbnail(of key: ContentKey) async {
        await thumbnails?.remove(key)
    }

    private func draw(_ picture: SharedDescriptor, into output: SharedDescriptor) async throws(ContentFolderFailure) {
        let job = PictureJob.Operation.thumbnail(side: Self.thumbnailSide, quality: Self.thumbnailQuality)
        do throws(PictureFailure) {
            _ = try await pictures.perform(job, on: picture, into: output, maximumPixels: Self.mostPixels)
        } catch {
            throw ContentFolderFailure(message: error.message, isFinal: error.isFinal)
        }
    }

    /// The picture for a thumbnail: the file itself, or a frame of a video.
    private func picture(
        of file: SharedDescriptor, _ type: MediaType, duration: Double?
    ) async throws(ContentFolderFailure) -> SharedDescriptor {
        guard VideoTools.takes(type) else { return file }
        let frame = try Self.memoryFile()
        do throws(VideoFailure) {
            try await videos.frame(of: file, type: type, duration: duration, into: frame)
            return frame
        } catch {
            throw ContentFolderFailure(message: error.message, isFinal: error.isFinal)
        }
    }

    /// A file in memory (man 2 memfd_create). The writing program's limits bound its length.
    private static func memoryFile() throws(ContentFolderFailure) -> SharedDescriptor {
        do {
            let raw = try retryingOnInterrupt { outbox_memory_file("outbox-frame") }
            return SharedDescriptor(Descriptor(owning: raw))
        } catch {
            throw ContentFolderFailure(
                message: "no memory for a frame of the video (memfd_create): \(error)", isFinal: false)
        }
    }

    private func note(_ what: Logger.Message, _ reason: String) {
        logger.debug(what, metadata: ["reason": "\(reason)"])
    }
}

extension PictureFailure {
    /// Whether another attempt would probably give the same answer.
    public var isFinal: Bool {
        switch self {
        case .refused, .killedWorker: true
        case .unavailable, .failed, .cancelled: false
        }
    }

    /// The failure for display, one line.
    public var message: String {
        switch self {
        case .refused(let refusal): refusal.message
        case .killedWorker(let reason): "the picture worker did not survive the file: \(reason)"
        case .unavailable(let reason), .failed(let reason): reason
        case .cancelled: "cancelled"
        }
    }
}

extension VideoFailure {
    /// The failure for display, one line.
    public var message: String {
        switch self {
        case .refused(let reason), .missing(let reason), .failed(let reason): reason
        case .cancelled: "cancelled"
        }
    }
}

/// The result of making a thumbnail.
public enum ThumbnailOutcome: Equatable, Sendable {
    /// The thumbnail exists.
    case there
    /// This content can't have a thumbnail; the reason for display.
    case none(String)
    /// No thumbnail now; a later attempt may succeed. The reason for display.
    case notNow(String)
}
