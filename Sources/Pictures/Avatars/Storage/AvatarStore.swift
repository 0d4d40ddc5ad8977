public import LinuxSystem
public import PictureJobs
import SystemPackage
public import UploadCore

/// Keeps originals and styled pictures: in the mirror's directory, or in memory.
///
/// All functions block. The cache calls them on a thread of its own, one at a time. Readers see every picture complete
/// or not at all.
public protocol AvatarStore: AnyObject, Sendable {
    /// The original of an address and its record; nil if missing.
    func original(of address: AvatarAddress) throws(AvatarStoreError) -> (picture: StoredPicture, record: AvatarRecord)?
    /// The record of an address. Still there if the original was removed by hand but its styled pictures were not.
    func record(of address: AvatarAddress) throws(AvatarStoreError) -> AvatarRecord?
    /// The styled picture drawn from the current original; nil if missing.
    func styled(_ address: AvatarAddress, _ style: PictureStyle) throws(AvatarStoreError) -> StoredPicture?
    /// An empty file for a download or a drawing; removed automatically unless kept.
    func makeDraft() throws(AvatarStoreError) -> any AvatarDraft
    /// Makes a draft the original of an address. Removes pictures drawn from the previous original.
    func keep(_ draft: any AvatarDraft, asOriginalOf address: AvatarAddress, _ record: AvatarRecord)
        throws(AvatarStoreError) -> StoredPicture
    /// Makes a draft the styled picture of an address.
    ///
    /// - Parameter original: The original it was drawn from, as returned by the store.
    /// - Returns: The styled picture. If the original was replaced or removed meanwhile, the picture is not kept and
    ///   has no path.
    func keep(
        _ draft: any AvatarDraft, asStyled address: AvatarAddress, _ style: PictureStyle,
        drawnFrom original: StoredPicture
    ) throws(AvatarStoreError) -> StoredPicture
    /// Replaces the record of an original that the server revalidated. Does nothing without an original.
    func update(_ record: AvatarRecord, of address: AvatarAddress) throws(AvatarStoreError)
    /// Returns after the original of an address, if any, is durable.
    func secure(_ address: AvatarAddress) throws(AvatarStoreError)
    /// Records that a picture was used now, for the order of trimming. May be coarse.
    func touch(_ address: AvatarAddress, at time: WallTime)
    /// Removes the original and its styled pictures.
    func remove(_ address: AvatarAddress) throws(AvatarStoreError)
    /// All entries, unordered.
    func entries() throws(AvatarStoreError) -> [AvatarEntry]
    /// Removes pictures fetched longer than `maximumAge` ago, then the least recently used ones until the rest fits.
    ///
    /// - Parameters:
    ///   - maximumSize: Bytes of originals and styled pictures together.
    ///   - maximumAge: Maximum age since the original was fetched; nil: no limit.
    ///   - isSpared: Whether an address must stay in any case.
    /// - Returns: The removed addresses and the remaining size.
    func trim(
        maximumSize: UInt64, maximumAge: Duration?, now: WallTime, sparing isSpared: (AvatarAddress) -> Bool
    ) throws(AvatarStoreError) -> AvatarTrim
}

/// The size of a store.
public struct AvatarTotals: Equatable, Sendable {
    /// Number of addresses.
    public var count: Int
    /// Bytes of originals and styled pictures together.
    public var bytes: UInt64

    /// Creates totals.
    public init(count: Int, bytes: UInt64) {
        self.count = count
        self.bytes = bytes
    }

    /// Sums up entries.
    public init(of entries: some Collection<AvatarEntry>) {
        self.init(count: entries.count, bytes: entries.reduce(0) { $0 + $1.size + $1.styledSize })
    }
}

/// The result of trimming a store.
public struct AvatarTrim: Equatable, Sendable {
    /// Removed because they were fetched too long ago.
    public var tooOld: [AvatarAddress]
    /// Removed to make room, least recently used first.
    public var tooMuch: [AvatarAddress]
    /// The remaining size.
    public var kept: AvatarTotals

    /// Creates a result.
    public init(tooOld: [AvatarAddress], tooMuch: [AvatarAddress], kept: AvatarTotals) {
        self.tooOld = tooOld
        self.tooMuch = tooMuch
        self.kept = kept
    }

    /// All removed addresses.
    public var removed: [AvatarAddress] { tooOld + tooMuch }
}

/// A picture in a store.
public struct StoredPicture: Sendable {
    /// The picture, open for reading.
    public var file: SharedDescriptor
    /// Absolute path, if the picture is a file with a name.
    public var path: String?
    /// Length in bytes.
    public var size: UInt64

    /// Creates a picture.
    public init(file: SharedDescriptor, path: String?, size: UInt64) {
        self.file = file
        self.path = path
        self.size = size
    }
}

/// A file for a picture before it is kept.
public protocol AvatarDraft: AnyObject, Sendable {
    /// The file, open for reading and writing.
    var file: SharedDescriptor { get }
}

/// The metadata of an original.
public struct AvatarRecord: Codable, Equatable, Sendable {
    /// The URL of the original.
    public var url: String
    /// The media type detected from the first bytes.
    public var type: String
    /// Value of `ETag`, unchanged from the server's reply.
    public var entityTag: String?
    /// Value of `Last-Modified`, unchanged from the server's reply.
    public var lastModified: String?
    /// When the original was fetched or revalidated, milliseconds since 1970.
    public var fetchedAt: Int64
    /// Until this time, the original is shown without asking the server; milliseconds since 1970.
    public var freshUntil: Int64

    /// Creates a record.
    public init(
        url: String, type: String, entityTag: String?, lastModified: String?, fetchedAt: Int64, freshUntil: Int64
    ) {
        self.url = url
        self.type = type
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.fetchedAt = fetchedAt
        self.freshUntil = freshUntil
    }
}

/// One address of a store, for listings.
public struct AvatarEntry: Equatable, Sendable {
    /// The address.
    public var address: AvatarAddress
    /// The record of the original.
    public var record: AvatarRecord
    /// Bytes of the original; 0 if it was removed by hand.
    public var size: UInt64
    /// Names of the stored styles, without `original`, ordered.
    public var styles: [String]
    /// Bytes of the styled pictures.
    public var styledSize: UInt64
    /// Time of the last use, as far as known.
    public var usedAt: WallTime

    /// Creates an entry.
    public init(
        address: AvatarAddress, record: AvatarRecord, size: UInt64, styles: [String], styledSize: UInt64,
        usedAt: WallTime
    ) {
        self.address = address
        self.record = record
        self.size = size
        self.styles = styles
        self.styledSize = styledSize
        self.usedAt = usedAt
    }
}

/// A store is unreadable or not writable.
public struct AvatarStoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One line: what failed, where, and what to do.
    public let description: String

    /// Creates an error.
    public init(_ description: String) { self.description = description }
}

extension AvatarStoreError {
    /// Creates an error from a system error, with advice.
    init(_ failure: String, in directory: String, _ error: Errno) {
        self.init("\(failure) in \(directory): \(error); \(Self.advice(on: error, in: directory))")
    }

    private static func advice(on error: Errno, in directory: String) -> String {
        switch error {
        case .noSpace, .diskQuotaExceeded: "free disk space, or lower avatar_cache.max_size"
        case .permissionDenied, .notPermitted, .readOnlyFileSystem:
            "give this user write access, or set avatars to another directory"
        case .notDirectory, .fileExists: "remove the file that is in the way, or set avatars to another directory"
        case .tooManySymbolicLinkLevels: "remove the symbolic links below it, because the agent follows none"
        case .fileNameTooLong: "set avatars to a directory with a shorter path"
        case .noSuchFileOrDirectory: "it was removed meanwhile; try again, and it is created anew"
        case .wouldBlock: "another program has locked \(directory)/.lock for too long; end it if it is stopped"
        case .tooManyOpenFiles, .tooManyOpenFilesInSystem: "raise the limit of open files (ulimit -n)"
        default: "check the disk"
        }
    }
}
