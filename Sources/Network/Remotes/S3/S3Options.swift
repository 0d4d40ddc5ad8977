public import UploadCore

/// The settings of an S3 remote.
public struct S3Options: Hashable, Sendable {
    /// How a URL names the bucket, `remote.path_style`.
    public enum PathStyle: Hashable, Sendable {
        /// By host name for AWS, by path elsewhere.
        case auto
        /// As in `https://host/bucket/key`.
        case path
        /// As in `https://bucket.host/key`.
        case virtualHost
    }

    /// The server's URL, without the bucket.
    public var endpoint: String
    /// The bucket.
    public var bucket: String
    /// The region that requests are signed for.
    public var region = "us-east-1"
    /// What the placeholder `{prefix}` stands for. Also begins the keys of posts and profile pictures.
    public var prefix = ""
    /// How URLs name the bucket.
    public var pathStyle = PathStyle.auto
    /// The template of object keys.
    public var key = NameTemplate.standardTemplate
    /// The checksum of parts and objects.
    public var checksum = S3Checksum.md5
    /// `x-amz-storage-class`; nil for the bucket's default.
    public var storageClass: String?
    /// `x-amz-server-side-encryption`; nil for the bucket's default.
    public var serverSideEncryption: String?
    /// `x-amz-server-side-encryption-aws-kms-key-id`; nil for the default key.
    public var encryptionKeyID: String?
    /// `x-amz-acl`; nil for the bucket's default.
    public var acl: String?
    /// The size of a part in bytes; nil for 8 MiB. Parts double until 10,000 suffice for a file.
    public var partSize: UInt32?

    /// Whether a prefix has an empty part, as in `/cam/` or `cam//x/`. Many stores take no such keys.
    static func isOdd(prefix: String) -> Bool { prefix != usual(prefix: prefix) }

    /// Returns a prefix without empty parts.
    static func usual(prefix: String) -> String {
        let parts = prefix.split(separator: "/").joined(separator: "/")
        return prefix.hasSuffix("/") && !parts.isEmpty ? parts + "/" : parts
    }

    /// Whether requests that create objects carry settings that the store may refuse.
    var hasStorageSettings: Bool {
        [storageClass, serverSideEncryption, encryptionKeyID, acl].contains { $0 != nil }
    }

    /// Creates the settings for a bucket, with defaults for everything else.
    public init(endpoint: String, bucket: String) {
        self.endpoint = endpoint
        self.bucket = bucket
    }
}
