import Glibc
public import PictureJobs
public import UploadCore

/// How an avatar cache behaves: `[avatar_cache]` of `agent.toml`.
public struct AvatarOptions: Sendable {
    /// Bytes that the mirror may take; the least recently used go first.
    public var maximumSize: UInt64
    /// Pictures that were fetched longer ago go; nil: none.
    public var maximumAge: Duration?
    /// How long a URL that failed is not asked again.
    public var retryFailedAfter: Duration
    /// Longer bodies are refused, in bytes.
    public var maximumPictureLength: Int
    /// Pictures with more pixels are refused.
    public var maximumPixels: Int
    /// Bytes of pictures that are kept in memory.
    public var memoryLimit: Int
    /// Downloads at once.
    public var maximumDownloads: Int
    /// Absolute path of the list of pictures that are kept mirrored, `wanted.txt`; nil: none.
    public var wantedFile: String?
    /// Absolute path of a symbolic link to a picture that stays whatever happens, `current.jpg`; nil: none.
    public var currentPicture: String?
    /// Named styles.
    public var styles: [String: [PictureStep]]

    /// Options; the defaults are those of `agent.toml`.
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

    /// 32 MiB, or a 64th of the machine's memory where that is less.
    public static let usualMemoryLimit: Int = {
        let memory = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
        return memory > 0 ? min(32 << 20, memory / 64) : 32 << 20
    }()
}

/// A picture, as somebody asked for it.
public struct AvatarPicture: Equatable, Sendable {
    /// The picture's file.
    public var bytes: [UInt8]
    /// Its media type.
    public var type: String
    /// Absolute path, where it is a file with a name.
    public var path: String?
    /// `ETag` of the original, as it came.
    public var entityTag: String?
    /// `Last-Modified` of the original, as it came.
    public var lastModified: String?
    /// When the original was fetched, or confirmed by the server.
    public var fetchedAt: WallTime
    /// Until when it is shown without asking the server.
    public var freshUntil: WallTime

    /// A picture.
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

/// What happens in the cache, for those who show it.
public enum AvatarEvent: Equatable, Sendable {
    /// A new original is in the mirror.
    case kept(url: String, type: String)
    /// An original and what was drawn from it are gone.
    case removed(url: String)
    /// A picture can't be had; `until` says when it is asked for again, where that was put off.
    case failed(url: String, code: String, message: String, until: WallTime?)
}

/// What time it is, and how to wait.
public struct AvatarClock: Sendable {
    /// Both clocks.
    public var now: @Sendable () -> Now
    /// Waits; throws when the task is cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void

    /// A clock.
    public init(now: @escaping @Sendable () -> Now, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.now = now
        self.sleep = sleep
    }
}
