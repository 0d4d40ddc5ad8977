/// Distinguishes a directory from others, including a later one with the same path or inode number.
public struct DirectoryIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    /// A file system may reuse an inode number soon after the directory's removal.
    private let born: Int64

    /// Creates the identity of the directory with this status.
    public init(_ status: FileStatus) {
        device = status.device
        inode = status.inode
        born = status.born
    }
}
