/// The checksum that an S3 store compares, `remote.checksum`.
public enum S3Checksum: String, Hashable, Sendable, CaseIterable {
    /// `Content-MD5`.
    case md5
    /// `x-amz-checksum-crc64nvme`.
    case crc64nvme
    /// `x-amz-checksum-sha256`.
    case sha256
    /// None. Over https the payload is not signed either, so that a file is read only once.
    case none
}
