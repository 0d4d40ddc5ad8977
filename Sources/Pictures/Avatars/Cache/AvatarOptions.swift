import Glibc
public import PictureJobs
public import UploadCore

/// Options of an avatar cache: `[avatar_cache]` of `agent.toml`.
public struct AvatarOptions: Sendable {
    /// Maximum size of the mirror in bytes; the least recently used pictures are evicted first.
    public var maximumSize: UInt64
    /// Pictures fetched longer ago are removed; nil: no limit.
    public var maximumAge: Duration?
    /// How long a failed URL is not requested again.
    public var retryFailedAfter: Duration
    /// Maximum size of a body in bytes; larger ones are refused.
    public var maximumPictureLength: Int
    /// Pictures with more pixels are refused.
    public var maximumPixels: Int
    /// Maximum size of pictures in memory, in bytes.
    public var memoryLimit: Int
    /// Maximum number of concurrent downloads.
    public var maximumDownloads: Int
    /// Absolute path of `wanted.txt`, the list of pictures to keep mirrored; nil: none.
    public var wantedFile: String?
    /// Absolute path of `current.jpg`, a symbolic link to a picture that is never removed; nil: none.
    public var currentPicture: String?
    /// Named styles.
    public var styles: [String: [PictureStep]]

    /// Creates options; the defaults are those of `agent.toml`.
    public init(
        maximumSize: UInt64 = 1 << 30, maximumAge: Duration? = .seconds(30 * 86_400),
        retryFailedAfter: Duration = .seconds(600), maximumPictureLength: Int = 20 << 20,
        maximumPixels: Int = 50_000_000, memoryLimit: Int = AvatarOptions.usualMemoryLimit, maximumDownloads: Int = 6,
        wantedFile: String? = nil, currentPicture: String? = nil, styles: [String: [PictureStep]] = [:]
    ) {
        self.maximumSize = maximumSize
        self.maximumAge = maximumAge
        self.retryFailedAfter = retryFailedAfter
        self.maximumPictureLength = maximumPictureLength
        self.maximumPixels = maximumPixels
        self.memoryLimit = memoryLimit
        self.maximumDownloads = maximumDownloads
        self.wantedFile = wantedFile
        self.currentPicture = currentPicture
        self.styles = styles
    }

    /// 32 MiB, or 1/64 of the machine's memory if that is less.
    public static let usualMemoryLimit: Int = {
        let memory = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
        return memory > 0 ? min(32 << 20, memory / 64) : 32 << 20
    }()
}

/// A picture in the requested style.
public struct AvatarPicture: Equatable, Sendable {
    /// The content of the picture's file.
    public var bytes: [UInt8]
    /// Its media type.
    public var type: String
    /// Absolute path, if the picture is a file with a name.
    public var path: String?
    /// `ETag` of the original, unchanged from the server's reply.
    public var entityTag: String?
    /// `Last-Modified` of the original, unchanged from the server's reply.
    public var lastModified: String?
    /// When the original was fetched or revalidated.
    public var fetchedAt: WallTime
    /// Until this time, the picture is shown without asking the server.
    public var freshUntil: WallTime

    /// Creates a picture.
    public init(
        bytes: [UInt8], type: String, path: String?, entityTag: String?, lastModified: String?, fetchedAt: WallTime,
        freshUntil: WallTime
    ) {
        self.bytes = bytes
        self.type = type
        self.path = path
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.fetchedAt = fetchedAt
        self.freshUntil = freshUntil
    }
}

/// An event of the cache, for observers.
public enum AvatarEvent: Equatable, Sendable {
    /// The mirror has a new original.
    case kept(url: String, type: String)
    /// An original and its styled pictures were removed.
    case removed(url: String)
    /// A picture is unavailable; `until` is the time of the next request if requests are on hold.
    case failed(url: String, code: String, message: String, until: WallTime?)
}
