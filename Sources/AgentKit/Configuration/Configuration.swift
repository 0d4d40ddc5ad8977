public import PictureJobs

/// What `agent.toml` and the environment say, checked and ready for use.
///
/// Its groups are the tables of the file. Every path is absolute; `nil` stands where the file says `""` or `0` and means
/// "none". The defaults of the properties are the defaults of the keys.
public struct Configuration: Sendable, Equatable {
    /// The watched directory.
    public var outbox: String
    /// Where the ledger, the socket, the stored token and the thumbnails live.
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

    /// The defaults, for a user whose home directory is `home` (absolute).
    public init(home: String) {
        outbox = home + "/Outbox"
        state = home + "/.local/state/outbox"
        avatars = home + "/.cache/outbox/avatars"
    }
}

extension Configuration {
    /// Which files are taken, and what becomes of them afterwards.
    public struct Intake: Sendable, Equatable {
        /// Quiet time after the last write before a file is taken.
        public var settle: Duration = .milliseconds(250)
        /// Interval of the full scan that backs up the kernel's events.
        public var rescan: Duration = .seconds(60)
        /// Whether files that are neither picture nor video are rejected.
        public var mediaOnly = true
        /// Names that are never taken, matched against each component of a path.
        public var ignore: [GlobPattern] = GlobPattern.unfinishedFiles
        /// Larger files are rejected; in bytes.
        public var maxFileSize: UInt64 = 64 << 30
        /// What becomes of a file once the server has confirmed its content.
        public var afterUpload = AfterUpload.keep
        /// Where `afterUpload` moves files to; relative to the outbox, never watched.
        public var moveTo = "Sent"
    }

    /// What becomes of a file once the server has confirmed its content.
    public enum AfterUpload: String, Sendable, CaseIterable {
        case keep, move, delete
    }

    /// Where the sidecars stand and how long they stay.
    public struct Sidecars: Sendable, Equatable {
        /// The root of a mirror tree; `nil`: beside each file.
        public var directory: String?
        /// How long a sidecar outlives its file, where it does.
        public var retention: Duration = .seconds(24 * 3600)
        /// Whether files that are not taken get a sidecar that says so.
        public var rejected = true
    }

    /// What is done with pictures and videos before they are sent.
    public struct Media: Sendable, Equatable {
        /// Whether thumbnails of 150×150 pixels are made.
        public var thumbnails = true
        /// Whether pictures are sent as JPEG at `jpegQuality`.
        public var compressImages = false
        /// 0 < quality ≤ 1.
        public var jpegQuality = 0.85
        /// Whether videos are sent as MP4.
        public var transcodeVideo = false
        /// Whether GPS data are removed from what is sent.
        public var stripLocation = false
    }

    /// How much is sent at once, and how long is waited for what.
    public struct Upload: Sendable, Equatable {
        /// 1 … 64.
        public var filesInFlight = 5
        /// Per file; 1 … 64.
        public var fragmentsInFlight = 4
        /// Bytes.
        public var fragmentSize: UInt64 = 512 << 10
        /// The ceiling of the backoff between attempts.
        public var retryInterval: Duration = .seconds(120)
        /// While sending: no byte moved for this long is a failure.
        public var stallTimeout: Duration = .seconds(30)
        /// Once everything is sent: how long the reply may take.
        public var replyTimeout: Duration = .seconds(600)
        /// An upload without progress for this long fails; `nil`: never.
        public var fileTimeout: Duration?
        /// Bytes per second over all uploads; `nil`: no limit.
        public var bandwidthLimit: UInt64?
    }

    /// The protocol a server is spoken to in.
    public enum RemoteProtocol: String, Sendable, CaseIterable {
        case filesection, tus, s3
    }

    /// The server.
    public struct Remote: Sendable, Equatable {
        /// What is spoken with the server.
        public var `protocol` = RemoteProtocol.filesection
        /// `http://` or `https://`, without credentials, query or fragment; without a trailing slash.
        public var url = "http://127.0.0.1:8787"
        /// A file whose first line is the bearer token.
        public var tokenFile: String?
        /// A certificate authority (PEM) trusted besides those of the system.
        public var caFile: String?
        /// Whether a token may travel over plain http to other hosts than this one.
        public var insecureHTTP = false
        /// s3: the bucket; `nil` unless `protocol` is `s3`, where it is required.
        public var bucket: String?
        /// s3: the region.
        public var region: String?
        /// s3: what object names begin with.
        public var prefix: String?
        /// s3: a file with the access key.
        public var accessKeyFile: String?
        /// s3: a file with the secret key.
        public var secretKeyFile: String?
    }

    /// The profile picture.
    public struct Portrait: Sendable, Equatable {
        /// Relative to the outbox.
        public var folder = "portrait"
        /// 0 < quality ≤ 1.
        public var jpegQuality = 0.7
    }

    /// Bounds of the mirror of the server's pictures.
    public struct AvatarCache: Sendable, Equatable {
        /// Bytes.
        public var maxSize: UInt64 = 1 << 30
        /// Older pictures go.
        public var maxAge: Duration = .seconds(30 * 86400)
        /// How long a URL that failed is not asked again.
        public var retryFailedAfter: Duration = .seconds(600)
        /// Larger bodies are refused; in bytes.
        public var maxPicture: UInt64 = 20 << 20
        /// Pictures with more pixels are refused.
        public var maxPixels = 50_000_000
        /// Whether hosts on private or loopback addresses may be mirrored.
        public var allowPrivate = false
        /// Host names, lower-case; empty: any.
        public var allowedHosts: [String] = []
        /// The picture served while nothing better is there.
        public var placeholder: String?
    }

    /// Where the agent can be talked to.
    public struct Control: Sendable, Equatable {
        /// The Unix socket; `nil`: see ``Configuration/controlSocket(runtimeDirectory:)``.
        public var socket: String?
        /// `ADDRESS:PORT` on a loopback address; `""`: none.
        public var dashboard = "127.0.0.1:8788"
    }

    /// What is logged.
    public struct Log: Sendable, Equatable {
        /// The least severe level that is logged, where the command line names none.
        public var level = LogLevel.info
    }

    /// The levels of swift-log, by the same names.
    public enum LogLevel: String, Sendable, CaseIterable {
        case trace, debug, info, notice, warning, error, critical
    }
}
