import Text

extension ConfigurationKey {
    private static let hour: Duration = .seconds(3600)
    private static let day: Duration = .seconds(86_400)

    /// All keys except the user's own styles, in the order of `agent.toml`.
    static let all: [ConfigurationKey] =
        places + intake + sidecars + history + media + upload + remote + portrait + avatarCache + heartbeat + control
        + log

    /// The tables, ``styles`` included.
    static let tables: [String] = {
        var tables: [String] = []
        for key in all where !key.table.isEmpty && tables.last != key.table { tables.append(key.table) }
        return tables + [styles, HookReading.table]
    }()

    private static let places = [
        ConfigurationKey(
            "outbox", \.outbox, .path, "the watched directory, with all its subdirectories; may itself be a symlink"),
        ConfigurationKey(
            "state", \.state, .path,
            "ledger, control socket, stored token, thumbnails; kept at mode 0700; not inside the outbox"),
        ConfigurationKey("avatars", \.avatars, .path, "mirror of the server's pictures; not inside the outbox"),
    ]

    private static let intake = [
        ConfigurationKey(
            "intake.settle", \.intake.settle, .duration(.zero...hour),
            "quiet time after the last write before a file is taken"),
        ConfigurationKey(
            "intake.rescan", \.intake.rescan, .duration(.seconds(1)...day),
            "interval of the full scan that backs up the kernel's events"),
        ConfigurationKey(
            "intake.media_only", \.intake.mediaOnly, .boolean,
            "`false`: any regular file is taken, not only pictures and videos"),
        ConfigurationKey(
            "intake.ignore", \.intake.ignore, .patterns,
            "names to ignore, matched against each part of a path: `*`, `?`, `[a-z]`, `[!a-z]`; `\\` takes the next character literally"
        ),
        ConfigurationKey(
            "intake.max_file_size", \.intake.maxFileSize, .size(1...Units.largest), "larger files are rejected"),
        ConfigurationKey(
            "intake.after_upload", \.intake.afterUpload, .word,
            "what the agent does with a file after the server confirmed its content"),
        ConfigurationKey(
            "intake.move_to", \.intake.moveTo, .outboxFolder,
            "the directory for `after_upload = \"move\"`: inside the outbox, not hidden, never watched"),
    ]

    private static let sidecars = [
        ConfigurationKey(
            "sidecars.directory", \.sidecars.directory, .noneOr(.path, none: ""),
            "the root of a mirror tree of sidecars, outside the outbox; `\"\"`: beside each file"),
        ConfigurationKey(
            "sidecars.retention", \.sidecars.retention, .duration(.zero...Units.longest),
            "how long the sidecar of a removed file may stay"),
        ConfigurationKey(
            "sidecars.rejected", \.sidecars.rejected, .boolean, "`false`: no sidecars for rejected files"),
    ]

    private static let history = [
        ConfigurationKey(
            "history.keep", \.history.keep, .noneOr(.duration(.seconds(1)...Units.longest), none: "0"),
            "how long the journal keeps an outcome; `\"0\"`: until every hook has it")
    ]

    private static let heartbeat = [
        ConfigurationKey(
            "heartbeat.url", \.heartbeat.url, .noneOr(.webAddress, none: ""),
            "gets a GET while all is well, and at `/fail` behind it a POST with the problems; `\"\"`: nobody"),
        ConfigurationKey(
            "heartbeat.every", \.heartbeat.every, .duration(.seconds(1)...day), "the time between two of them"),
    ]

    private static let media = [
        ConfigurationKey(
            "media.thumbnails", \.media.thumbnails, .boolean, "150×150 thumbnails in `<state>/thumbnails/<key>.jpg`"),
        ConfigurationKey(
            "media.compress_images", \.media.compressImages, .boolean,
            "`true`: pictures are sent as JPEG at `jpeg_quality`; the file stays as it is"),
        ConfigurationKey("media.jpeg_quality", \.media.jpegQuality, .quality, "quality for `compress_images`"),
        ConfigurationKey(
            "media.max_dimension", \.media.maxDimension, .integer(0...65_535),
            "for `compress_images`: the longer side in pixels; larger pictures are made smaller; `0`: any size"),
        ConfigurationKey(
            "media.transcode_video", \.media.transcodeVideo, .boolean,
            "`true`: videos are sent as MP4 (H.264/AAC); the file stays as it is"),
        ConfigurationKey(
            "media.video_height", \.media.videoHeight, .integer(144...4_320),
            "for `transcode_video`: the shorter side in pixels; larger videos are made smaller"),
        ConfigurationKey(
            "media.video_crf", \.media.videoCRF, .integer(0...51),
            "for `transcode_video`: x264's constant rate factor; lower is better and larger"),
        ConfigurationKey(
            "media.strip_location", \.media.stripLocation, .boolean,
            "`true`: the agent removes positions from what it sends; a file that keeps one fails"),
        ConfigurationKey(
            "media.strip_metadata", \.media.stripMetadata, .boolean,
            "`true`: the agent removes all metadata from what it sends, positions included; a file that keeps some fails"
        ),
        ConfigurationKey(
            "media.keep_dates", \.media.keepDates, .boolean, "for `strip_metadata`: the date of capture stays"),
        ConfigurationKey(
            "media.products_max_size", \.media.productsMaxSize, .size((64 << 20)...Units.largest),
            "products that wait for their upload; the agent makes no more while they have this size"),
        ConfigurationKey(
            "media.delete_originals", \.media.deleteOriginals, .boolean,
            "`true`: `after_upload = \"delete\"` also deletes files of which the server got a smaller copy"),
    ]

    private static let upload = [
        ConfigurationKey(
            "upload.files_in_flight", \.upload.filesInFlight, .integer(1...64), live: true,
            "files sent at the same time; files smaller than a fragment count by their size"),
        ConfigurationKey(
            "upload.fragments_in_flight", \.upload.fragmentsInFlight, .noneOr(.integer(1...64), none: "auto"),
            live: true,
            "fragments of one file sent at the same time; fewer on a link where one takes over 15 s; `\"auto\"`: as many as the link needs, at most 32 over all files"
        ),
        ConfigurationKey(
            "upload.fragment_size", \.upload.fragmentSize, .size(65_536...(64 << 20)),
            "size of a fragment: only `512KiB` is possible; a started upload keeps its size"
        ),
        ConfigurationKey(
            "upload.retry_interval", \.upload.retryInterval, .duration(.seconds(1)...day), live: true,
            "longest pause between two attempts"),
        ConfigurationKey(
            "upload.stall_timeout", \.upload.stallTimeout, .duration(.seconds(1)...day), live: true,
            "while sending: no byte moved for this long is a failure; the agent's own throttling does not count"),
        ConfigurationKey(
            "upload.reply_timeout", \.upload.replyTimeout, .duration(.seconds(1)...day), live: true,
            "once everything is sent: how long the reply may take"),
        ConfigurationKey(
            "upload.file_timeout", \.upload.fileTimeout, .noneOr(.duration(.seconds(1)...Units.longest), none: "0"),
            live: true,
            "an upload without progress for this long fails; `\"0\"`: never"),
        ConfigurationKey(
            "upload.bandwidth_limit", \.upload.bandwidthLimit, .noneOr(.size(1024...Units.largest), none: "0"),
            live: true,
            "bytes per second over all uploads; `\"0\"`: no limit"),
    ]

    private static let remote = [
        ConfigurationKey("remote.protocol", \.remote.protocol, .word, "the protocol of the server"),
        ConfigurationKey(
            "remote.url", \.remote.writtenURL, .webAddress,
            "the server's address: `http://` or `https://`, without credentials, `?` or `#`; `tus`: where uploads are created, may contain `{key}` and `{ext}`"
        ),
        ConfigurationKey(
            "remote.token_file", \.remote.tokenFile, .noneOr(.path, none: ""), live: true,
            "file with the bearer token, re-read when it changes"),
        ConfigurationKey(
            "remote.ca_file", \.remote.caFile, .noneOr(.path, none: ""),
            "extra certificate authority (PEM); TLS is always verified"),
        ConfigurationKey(
            "remote.insecure_http", \.remote.insecureHTTP, .boolean,
            "`true`: a token may travel over plain http to other machines than this one"),
        ConfigurationKey(
            "remote.max_patch", \.remote.maxPatch, .noneOr(.size((512 << 10)...Units.largest), none: "0"),
            "`tus` only: the largest body of one PATCH, for a proxy that limits it; `\"0\"`: no limit"),
        ConfigurationKey(
            "remote.creation_with_upload", \.remote.creationWithUpload, .boolean,
            "`tus` only: `true`: files of up to 512 KiB go with the request that creates the upload, if the server offers this; a lost reply leaves a second copy"
        ),
        ConfigurationKey(
            "remote.name", \.remote.name, .plain,
            "`tus` only: the template of the names that uploads have, of `{name}`, `{key}`, `{ext}`, `{path}`, `{date:%Y/%m}`, `{account}`"
        ),
        ConfigurationKey(
            "remote.bucket", \.remote.bucket, .noneOr(.plain, none: ""), "`s3` only, and required there: the bucket"),
        ConfigurationKey("remote.region", \.remote.region, .plain, "`s3` only: the region"),
        ConfigurationKey("remote.prefix", \.remote.prefix, .plain, "`s3` only: the beginning of all object keys"),
        ConfigurationKey(
            "remote.path_style", \.remote.pathStyle, .flagOrAuto,
            "`s3` only: `true`: the bucket is in the path; `false`: in the host name; `\"auto\"`: in the host name for AWS, in the path elsewhere"
        ),
        ConfigurationKey(
            "remote.key", \.remote.key, .plain,
            "`s3` only: the template of object keys, of `{prefix}`, `{key}`, `{ext}`, `{path}`, `{name}`, `{date:%Y/%m}`, `{account}`"
        ),
        ConfigurationKey(
            "remote.access_key_file", \.remote.accessKeyFile, .noneOr(.path, none: ""),
            "`s3` only: file with the access key; needs `secret_key_file`"),
        ConfigurationKey(
            "remote.secret_key_file", \.remote.secretKeyFile, .noneOr(.path, none: ""),
            "`s3` only: file with the secret key; needs `access_key_file`"),
        ConfigurationKey(
            "remote.profile", \.remote.profile, .noneOr(.plain, none: ""),
            "`s3` only: the profile in the shared credentials file; else `AWS_PROFILE`, else `default`"),
        ConfigurationKey(
            "remote.credentials_file", \.remote.credentialsFile, .noneOr(.path, none: ""),
            "`s3` only: the shared credentials file; else `AWS_SHARED_CREDENTIALS_FILE`, else `~/.aws/credentials`"),
        ConfigurationKey(
            "remote.checksum", \.remote.checksum, .word, "`s3` only: the checksum that each request carries"),
        ConfigurationKey(
            "remote.storage_class", \.remote.storageClass, .noneOr(.plain, none: ""),
            "`s3` only: the storage class of objects, sent as given"),
        ConfigurationKey(
            "remote.server_side_encryption", \.remote.serverSideEncryption, .noneOr(.plain, none: ""),
            "`s3` only: `AES256` or `aws:kms`, sent as given"),
        ConfigurationKey(
            "remote.sse_kms_key_id", \.remote.sseKMSKeyID, .noneOr(.plain, none: ""),
            "`s3` only: the key for `aws:kms`, sent as given"),
        ConfigurationKey(
            "remote.acl", \.remote.acl, .noneOr(.plain, none: ""), "`s3` only: the canned ACL of objects, sent as given"
        ),
        ConfigurationKey(
            "remote.part_size", \.remote.partSize, .noneOr(.size((5 << 20)...(2 << 30)), none: "auto"),
            "`s3` only: size of a part, a multiple of `512KiB`; `\"auto\"`: 8 MiB, more where 10,000 parts need it"),
    ]

    private static let portrait = [
        ConfigurationKey(
            "portrait.folder", \.portrait.folder, .outboxFolder,
            "inside the outbox, not hidden: the newest picture dropped there becomes the profile picture"),
        ConfigurationKey("portrait.jpeg_quality", \.portrait.jpegQuality, .quality, "quality of the profile picture"),
    ]

    private static let avatarCache = [
        ConfigurationKey(
            "avatar_cache.max_size", \.avatarCache.maxSize, .size(0...Units.largest),
            "above this size, the agent removes the least recently used pictures"),
        ConfigurationKey(
            "avatar_cache.max_age", \.avatarCache.maxAge, .duration(.zero...Units.longest),
            "the agent removes older pictures"),
        ConfigurationKey(
            "avatar_cache.retry_failed_after", \.avatarCache.retryFailedAfter, .duration(.zero...Units.longest),
            "how long the agent does not ask a failed URL again"),
        ConfigurationKey(
            "avatar_cache.max_picture", \.avatarCache.maxPicture, .size(1...(1 << 30)), "larger pictures are refused"),
        ConfigurationKey(
            "avatar_cache.max_pixels", \.avatarCache.maxPixels, .integer(1...1_000_000_000),
            "pictures with more pixels are refused"),
        ConfigurationKey(
            "avatar_cache.allow_private", \.avatarCache.allowPrivate, .boolean,
            "`true`: hosts on private or loopback addresses may be mirrored"),
        ConfigurationKey(
            "avatar_cache.allowed_hosts", \.avatarCache.allowedHosts, .hosts,
            "the only hosts that may be mirrored; empty: any"),
        ConfigurationKey(
            "avatar_cache.placeholder", \.avatarCache.placeholder, .noneOr(.path, none: ""),
            "picture to serve until the wanted one is there"),
    ]

    private static let control = [
        ConfigurationKey(
            "control.socket", \.control.socket, .noneOr(.socketPath, none: ""),
            "the Unix socket, mode 0600; `\"\"`: `<state>/control.sock`, or a short path under `$XDG_RUNTIME_DIR` when that is too long"
        ),
        ConfigurationKey(
            "control.dashboard", \.control.dashboard, .loopbackAddress,
            "address of the dashboard; a busy port causes a warning, but the default gives way to the next free one; port 0 takes a free one"
        ),
        ConfigurationKey(
            "control.metrics_token_file", \.control.metricsTokenFile, .noneOr(.path, none: ""),
            "file whose first line is a token for `/metrics` on the dashboard's address; the token stays the same over restarts"
        ),
    ]

    private static let log = [
        ConfigurationKey(
            "log.level", \.log.level, .word, live: true,
            "the least severe level to log; `--log-level` overrides it")
    ]
}
