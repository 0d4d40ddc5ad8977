/// Tells one directory from another, also from a later one with the same path or the same inode number.
public struct DirectoryIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    /// A file system may use an inode number again soon after its directory is gone.
    private let born: Int64

    /// The identity of the directory with this status.
    public init(_ status: FileStatus) {
        device = status.device
        inode = status.inode
        born = status.born
    }
}
