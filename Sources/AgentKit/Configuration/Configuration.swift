public import PictureJobs

/// The validated settings from `agent.toml` and the environment.
///
/// The nested types correspond to the tables of the file. Every path is absolute. `nil` means "none", which the file
/// writes as `""` or `0`. The defaults of the properties are the defaults of the keys.
public struct Configuration: Sendable, Equatable {
    /// The watched directory.
    public var outbox: String
    /// Directory of the ledger, the socket, the stored token and the thumbnails.
    public var state: String
    /// The mirror of the server's pictures.
    public var avatars: String

    /// `[intake]`
    public var intake = Intake()
    /// `[sidecars]`
    public var sidecars = Sidecars()
    /// `[media]`
    public var media = Media()
    /// `[upload]`
    public var upload = Upload()
    /// `[remote]`
    public var remote = Remote()
    /// `[portrait]`
    public var portrait = Portrait()
    /// `[avatar_cache]`
    public var avatarCache = AvatarCache()
    /// `[avatar_styles]`: the steps of each named style.
    public var avatarStyles: [String: [PictureStep]] = [:]
    /// `[control]`
    public var control = Control()
    /// `[log]`
    public var log = Log()

    /// Creates the defaults for a user with this home directory (absolute path).
    public init(home: String) {
        outbox = home + "/Outbox"
        state = home + "/.local/state/outbox"
        avatars = home + "/.cache/outbox/avatars"
    }
}

extension Configuration {
    /// Which files to accept, and what to do with them after the upload.
    public struct Intake: Sendable, Equatable {
        /// Time without writes before a file is accepted.
        public var settle: Duration = .milliseconds(250)
        /// Interval of the full scan that backs up the kernel's events.
        public var rescan: Duration = .seconds(60)
        /// Whether files that are neither picture nor video are rejected.
        public var mediaOnly = true
        /// Names to ignore, matched against each component of a path.
        public var ignore: [GlobPattern] = GlobPattern.unfinishedFiles
        /// Maximum file size in bytes. Larger files are rejected.
        public var maxFileSize: UInt64 = 64 << 30
        /// What to do with a file after the server confirmed its content.
        public var afterUpload = AfterUpload.keep
        /// Where `afterUpload` moves files to, relative to the outbox. Never watched.
        public var moveTo = "Sent"
    }

    /// What to do with a file after the server confirmed its content.
    public enum AfterUpload: String, Sendable, CaseIterable {
        case keep, move, delete
    }

    /// Place and lifetime of the sidecars.
    public struct Sidecars: Sendable, Equatable {
        /// The root of a separate tree of sidecars; `nil` places each sidecar beside its file.
        public var directory: String?
        /// How long to keep the sidecar of a file that is gone.
        public var retention: Duration = .seconds(24 * 3600)
        /// Whether rejected files get a sidecar with the reason.
        public var rejected = true
    }

    /// Processing of pictures and videos before they are sent.
    public struct Media: Sendable, Equatable {
        /// Whether to draw thumbnails of 150×150 pixels.
        public var thumbnails = true
        /// Whether to send pictures as JPEG at `jpegQuality`.
        public var compressImages = false
        /// 0 < quality ≤ 1.
        public var jpegQuality = 0.85
        /// Whether to send videos as MP4.
        public var transcodeVideo = false
        /// Whether to remove GPS data from sent files.
        public var stripLocation = false
    }

    /// Limits on concurrency, bandwidth and waiting.
    public struct Upload: Sendable, Equatable {
        /// Files sent at the same time; 1 … 64.
        public var filesInFlight = 5
        /// Fragments per file sent at the same time; 1 … 64.
        public var fragmentsInFlight = 4
        /// Fragment size in bytes.
        public var fragmentSize: UInt64 = 512 << 10
        /// Maximum backoff between attempts.
        public var retryInterval: Duration = .seconds(120)
        /// A request that transfers no byte for this long while sending has failed.
        public var stallTimeout: Duration = .seconds(30)
        /// How long the server may take to reply after everything was sent.
        public var replyTimeout: Duration = .seconds(600)
        /// An upload without progress for this long fails; `nil` disables the limit.
        public var fileTimeout: Duration?
        /// Bytes per second over all uploads; `nil` disables the limit.
        public var bandwidthLimit: UInt64?
    }

    /// The protocol of the server.
    public enum RemoteProtocol: String, Sendable, CaseIterable {
        case filesection, tus, s3
    }

    /// The server.
    public struct Remote: Sendable, Equatable {
        /// The protocol of the server.
        public var `protocol` = RemoteProtocol.filesection
        /// `http://` or `https://`, without credentials, query or fragment; without a trailing slash.
        public var url = "http://127.0.0.1:8787"
        /// A file whose first line is the bearer token.
        public var tokenFile: String?
        /// A certificate authority (PEM) trusted besides those of the system.
        public var caFile: String?
        /// Whether a token may travel over plain http to other machines.
        public var insecureHTTP = false
        /// s3: the bucket. Required if `protocol` is `s3`, otherwise `nil`.
        public var bucket: String?
        /// s3: the region.
        public var region: String?
        /// s3: the prefix of object names.
        public var prefix: String?
        /// s3: a file with the access key.
        public var accessKeyFile: String?
        /// s3: a file with the secret key.
        public var secretKeyFile: String?
    }

    /// The profile picture.
    public struct Portrait: Sendable, Equatable {
        /// The folder for dropped pictures, relative to the outbox.
        public var folder = "portrait"
        /// 0 < quality ≤ 1.
        public var jpegQuality = 0.7
    }

    /// Limits of the mirror of the server's pictures.
    public struct AvatarCache: Sendable, Equatable {
        /// Maximum total size in bytes.
        public var maxSize: UInt64 = 1 << 30
        /// Maximum age of a picture.
        public var maxAge: Duration = .seconds(30 * 86400)
        /// How long to wait before retrying a failed URL.
        public var retryFailedAfter: Duration = .seconds(600)
        /// Maximum size of a body in bytes. Larger ones are refused.
        public var maxPicture: UInt64 = 20 << 20
        /// Maximum number of pixels. Larger pictures are refused.
        public var maxPixels = 50_000_000
        /// Whether hosts on private or loopback addresses may be mirrored.
        public var allowPrivate = false
        /// Host names in lower case; empty allows any host.
        public var allowedHosts: [String] = []
        /// The picture to serve while the real one is missing.
        public var placeholder: String?
    }

    /// Addresses of the control interface.
    public struct Control: Sendable, Equatable {
        /// The Unix socket; `nil`: see ``Configuration/controlSocket(runtimeDirectory:)``.
        public var socket: String?
        /// `ADDRESS:PORT` on a loopback address; `""` disables the page.
        public var dashboard = "127.0.0.1:8788"
    }

    /// Log settings.
    public struct Log: Sendable, Equatable {
        /// The least severe level to log, unless the command line names one.
        public var level = LogLevel.info
    }

    /// The levels of swift-log, with the same names.
    public enum LogLevel: String, Sendable, CaseIterable {
        case trace, debug, info, notice, warning, error, critical
    }
}
