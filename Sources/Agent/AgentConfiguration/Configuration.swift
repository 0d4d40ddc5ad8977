package import PictureJobs
package import Text
package import UploadCore

/// The validated settings from `agent.toml` and the environment.
///
/// The nested types correspond to the tables of the file. Every path is absolute. `nil` means "none", which the file
/// writes as `""` or `0`. The defaults of the properties are the defaults of the keys.
package struct Configuration: Sendable, Equatable {
    /// The watched directory.
    package var outbox: String
    /// Directory of the ledger, the socket, the stored token and the thumbnails.
    package var state: String
    /// The mirror of the server's pictures.
    package var avatars: String

    /// `[intake]`
    package var intake = Intake()
    /// `[sidecars]`
    package var sidecars = Sidecars()
    /// `[history]`
    package var history = History()
    /// `[media]`
    package var media = Media()
    /// `[upload]`
    package var upload = Upload()
    /// `[remote]`
    package var remote = Remote()
    /// `[portrait]`
    package var portrait = Portrait()
    /// `[avatar_cache]`
    package var avatarCache = AvatarCache()
    /// `[avatar_styles]`: the steps of each named style.
    package var avatarStyles: [String: [PictureStep]] = [:]
    /// `[[hook]]`
    package var hooks: [Hook] = []
    /// `[heartbeat]`
    package var heartbeat = Heartbeat()
    /// `[control]`
    package var control = Control()
    /// `[log]`
    package var log = Log()

    /// Creates the defaults for a user with this home directory (absolute path).
    init(home: String) {
        outbox = home + "/Outbox"
        state = home + "/.local/state/outbox"
        avatars = home + "/.cache/outbox/avatars"
    }
}

extension Configuration {
    /// Which files to accept, and what to do with them after the upload.
    package struct Intake: Sendable, Equatable {
        /// Time without writes before a file is accepted.
        package var settle: Duration = .milliseconds(250)
        /// Interval of the full scan that backs up the kernel's events.
        package var rescan: Duration = .seconds(60)
        /// Whether files that are neither picture nor video are rejected.
        package var mediaOnly = true
        /// Names to ignore, matched against each component of a path.
        package var ignore: [GlobPattern] = GlobPattern.unfinishedFiles
        /// Maximum file size in bytes. Larger files are rejected.
        package var maxFileSize: UInt64 = 64 << 30
        /// What to do with a file after the server confirmed its content.
        package var afterUpload = AfterUpload.keep
        /// Where `afterUpload` moves files to, relative to the outbox. Never watched.
        package var moveTo = "Sent"
    }

    /// What to do with a file after the server confirmed its content.
    package enum AfterUpload: String, Sendable, CaseIterable {
        case keep, move, delete
    }

    /// Place and lifetime of the sidecars.
    package struct Sidecars: Sendable, Equatable {
        /// The root of a separate tree of sidecars; `nil` places each sidecar beside its file.
        package var directory: String?
        /// How long to keep the sidecar of a file that is gone.
        package var retention: Duration = .seconds(24 * 3600)
        /// Whether rejected files get a sidecar with the reason.
        package var rejected = true
    }

    /// The journal of outcomes.
    package struct History: Sendable, Equatable {
        /// How long an outcome stays; `nil`: only until every hook has it.
        package var keep: Duration? = .seconds(365 * 24 * 3600)
    }

    /// Processing of pictures and videos before they are sent.
    package struct Media: Sendable, Equatable {
        /// Whether to draw thumbnails of 150×150 pixels.
        package var thumbnails = true
        /// Whether to send pictures as JPEG at `jpegQuality`.
        var compressImages = false
        /// 0 < quality ≤ 1.
        var jpegQuality = 0.85
        /// The longer side of a compressed picture, in pixels; 0: any.
        var maxDimension = 0
        /// Whether to send videos as MP4.
        var transcodeVideo = false
        /// The shorter side of a transcoded video, in pixels.
        var videoHeight = 480
        /// Constant rate factor of x264, 0 … 51; lower is better.
        var videoCRF = 23
        /// Whether to remove positions from sent files.
        var stripLocation = false
        /// Whether to remove all metadata from sent files.
        var stripMetadata = false
        /// Whether dates of capture stay with `stripMetadata`.
        var keepDates = false
        /// The products that wait for their upload may have about this many bytes.
        package var productsMaxSize: UInt64 = 10 << 30
        /// Whether `intake.after_upload = "delete"` may delete files of which the server got a smaller copy.
        var deleteOriginals = false

        /// What is done to files before their upload.
        package var recipes: Recipes {
            Recipes(
                pictures: compressImages
                    ? .jpeg(quality: max(1, Int((jpegQuality * 100).rounded())), maximumSide: maxDimension) : nil,
                videos: transcodeVideo ? .mp4(height: videoHeight, quality: videoCRF) : nil,
                removal: stripMetadata ? .metadata(keepsDates: keepDates) : stripLocation ? .positions : nil)
        }
    }

    /// Limits on concurrency, bandwidth and waiting.
    package struct Upload: Sendable, Equatable {
        /// Files sent at the same time; 1 … 64. Files smaller than a fragment count by their size.
        package var filesInFlight = 5
        /// Fragments per file sent at the same time; 1 … 64. `nil`: as many as the link needs.
        package var fragmentsInFlight: Int?
        /// Fragment size in bytes.
        var fragmentSize: UInt64 = 512 << 10
        /// Maximum backoff between attempts.
        package var retryInterval: Duration = .seconds(120)
        /// A request that transfers no byte for this long while sending has failed.
        package var stallTimeout: Duration = .seconds(30)
        /// How long the server may take to reply after everything was sent.
        package var replyTimeout: Duration = .seconds(600)
        /// An upload without progress for this long fails; `nil` disables the limit.
        package var fileTimeout: Duration?
        /// Bytes per second over all uploads; `nil` disables the limit.
        package var bandwidthLimit: UInt64?
    }

    /// The protocol of the server.
    package enum RemoteProtocol: String, Sendable, CaseIterable {
        case filesection, tus, s3

        /// Whether access keys prove the account, not a token. They sign requests, and never travel themselves.
        package var usesAccessKeys: Bool { self == .s3 }
    }

    /// The server.
    package struct Remote: Sendable, Equatable {
        /// The protocol of the server.
        package var `protocol` = RemoteProtocol.filesection
        /// `http://` or `https://`, without credentials, query or fragment. As the user wrote it: a tus server may create
        /// uploads only at an address that ends with a slash, or contains the name of the file.
        package var writtenURL = "http://127.0.0.1:8787"
        /// The address without trailing slashes.
        package var url: String {
            get {
                var text = writtenURL[...]
                while text.utf8.last == UInt8(ascii: "/") { text.removeLast() }
                return String(text)
            }
            set { writtenURL = newValue }
        }
        /// A file whose first line is the bearer token.
        package var tokenFile: String?
        /// A certificate authority (PEM) trusted besides those of the system.
        package var caFile: String?
        /// Whether a token may travel over plain http to other machines.
        var insecureHTTP = false
        /// s3: the bucket. Required if `protocol` is `s3`, otherwise `nil`.
        package var bucket: String?
        /// tus: the largest body of one PATCH in bytes; `nil`: no limit.
        package var maxPatch: UInt64?
        /// tus: whether the request that creates the upload of a small file carries the file.
        package var creationWithUpload = false
        /// tus: the template of the names that uploads have.
        package var name = "{name}"
        /// s3: the region.
        package var region = "us-east-1"
        /// s3: the prefix of object keys.
        package var prefix = ""
        /// s3: whether the bucket is in the path or in the host name.
        package var pathStyle = PathStyle.auto
        /// s3: the template of object keys.
        package var key = "{prefix}{key}{ext}"
        /// s3: the profile in the shared credentials file.
        package var profile: String?
        /// s3: the shared credentials file.
        package var credentialsFile: String?
        /// s3: the checksum sent with each part.
        package var checksum = S3Checksum.md5
        /// s3: the storage class, sent as given.
        package var storageClass: String?
        /// s3: `x-amz-server-side-encryption`, sent as given.
        package var serverSideEncryption: String?
        /// s3: the key of `aws:kms`, sent as given.
        package var sseKMSKeyID: String?
        /// s3: the canned ACL, sent as given.
        package var acl: String?
        /// s3: the size of a part in bytes; `nil`: as small as 10,000 parts allow, at least 8 MiB.
        package var partSize: UInt64?
        /// s3: a file with the access key.
        package var accessKeyFile: String?
        /// s3: a file with the secret key.
        package var secretKeyFile: String?
    }

    /// Where a request to S3 names the bucket.
    package enum PathStyle: String, Sendable, CaseIterable {
        /// In the host name for AWS, in the path elsewhere.
        case auto
        /// In the path.
        case always = "true"
        /// In the host name.
        case never = "false"
    }

    /// The profile picture.
    package struct Portrait: Sendable, Equatable {
        /// The folder for dropped pictures, relative to the outbox.
        package var folder = "portrait"
        /// 0 < quality ≤ 1.
        package var jpegQuality = 0.7
    }

    /// Limits of the mirror of the server's pictures.
    package struct AvatarCache: Sendable, Equatable {
        /// Maximum total size in bytes.
        package var maxSize: UInt64 = 1 << 30
        /// Maximum age of a picture.
        package var maxAge: Duration = .seconds(30 * 86400)
        /// How long to wait before retrying a failed URL.
        package var retryFailedAfter: Duration = .seconds(600)
        /// Maximum size of a body in bytes. Larger ones are refused.
        package var maxPicture: UInt64 = 20 << 20
        /// Maximum number of pixels. Larger pictures are refused.
        package var maxPixels = 50_000_000
        /// Whether hosts on private or loopback addresses may be mirrored.
        package var allowPrivate = false
        /// Hosts in canonical form (`HostPattern`); empty allows any host.
        package var allowedHosts: [String] = []
        /// The picture to serve while the real one is missing.
        package var placeholder: String?
    }

    /// Addresses of the control interface.
    package struct Control: Sendable, Equatable {
        /// The Unix socket; `nil`: see ``Configuration/controlSocket(runtimeDirectory:)``.
        var socket: String?
        /// `ADDRESS:PORT` on a loopback address; `""` disables the page.
        package var dashboard = "127.0.0.1:8788"
        /// The file with a token for `/metrics`; nil for none.
        package var metricsTokenFile: String?
    }

    /// Log settings.
    package struct Log: Sendable, Equatable {
        /// The least severe level to log, unless the command line names one.
        package var level = LogLevel.info
    }

    /// The levels of swift-log, with the same names.
    package enum LogLevel: String, Sendable, CaseIterable {
        case trace, debug, info, notice, warning, error, critical
    }
}
