public import LinuxSystem
public import PictureJobs
public import UploadCore

/// Where originals and styled pictures are kept: the directory mirror, or memory.
///
/// Its functions block; the cache calls them on a thread of its own, one at a time. Everything kept is seen whole or
/// not at all.
public protocol AvatarStore: AnyObject, Sendable {
    /// The original of an address and what is known of it; nil where there is none.
    func original(of address: AvatarAddress) throws(AvatarStoreError) -> (picture: StoredPicture, record: AvatarRecord)?
    /// What is known of an address; there, too, where its original was removed by hand and what was drawn from it was
    /// not.
    func record(of address: AvatarAddress) throws(AvatarStoreError) -> AvatarRecord?
    /// The styled picture, drawn from the original that is kept now; nil where there is none.
    func styled(_ address: AvatarAddress, _ style: PictureStyle) throws(AvatarStoreError) -> StoredPicture?
    /// An empty file that a picture is downloaded or drawn into; it vanishes unless it is kept.
    func makeDraft() throws(AvatarStoreError) -> any AvatarDraft
    /// Makes a draft the original of an address; the pictures drawn from the one before go.
    func keep(_ draft: any AvatarDraft, asOriginalOf address: AvatarAddress, _ record: AvatarRecord)
        throws(AvatarStoreError) -> StoredPicture
    /// Makes a draft the styled picture of an address.
    ///
    /// - Parameter original: what it was drawn from, as the store gave it.
    /// - Returns: the styled picture. Where the original has been replaced or removed since, it is not kept, and has no
    ///   path.
    func keep(
        _ draft: any AvatarDraft, asStyled address: AvatarAddress, _ style: PictureStyle,
        drawnFrom original: StoredPicture
    ) throws(AvatarStoreError) -> StoredPicture
    /// Changes what is known of the original (the server said it has not changed); nothing where there is none.
    func update(_ record: AvatarRecord, of address: AvatarAddress) throws(AvatarStoreError)
    /// Returns once the original of an address, where it is kept, survives a power cut.
    func secure(_ address: AvatarAddress) throws(AvatarStoreError)
    /// Notes that a picture was used now, for the order of trimming. May be coarse.
    func touch(_ address: AvatarAddress, at time: WallTime)
    /// Removes the original and what was drawn from it.
    func remove(_ address: AvatarAddress) throws(AvatarStoreError)
    /// Everything that is kept, in no order.
    func entries() throws(AvatarStoreError) -> [AvatarEntry]
    /// Removes what was fetched longer than `maximumAge` ago, then what was used least recently until all fit.
    ///
    /// - Parameters:
    ///   - maximumSize: bytes, originals and styled pictures together.
    ///   - maximumAge: counted from when the original was fetched; nil: no limit.
    ///   - isSpared: whether an address stays whatever happens.
    /// - Returns: what went, and how much is left.
    func trim(
        maximumSize: UInt64, maximumAge: Duration?, now: WallTime, sparing isSpared: (AvatarAddress) -> Bool
    ) throws(AvatarStoreError) -> AvatarTrim
}

/// How much a store keeps.
public struct AvatarTotals: Equatable, Sendable {
    /// Number of addresses.
    public var count: Int
    /// Bytes of originals and styled pictures together.
    public var bytes: UInt64

    /// Totals.
    public init(count: Int, bytes: UInt64) {
        self.count = count
        self.bytes = bytes
    }

    /// What all of these are together.
    public init(of entries: some Collection<AvatarEntry>) {
        self.init(count: entries.count, bytes: entries.reduce(0) { $0 + $1.size + $1.styledSize })
    }
}

/// What trimming did to a store.
public struct AvatarTrim: Equatable, Sendable {
    /// Went since they were fetched too long ago.
    public var tooOld: [AvatarAddress]
    /// Went to make room, least recently used first.
    public var tooMuch: [AvatarAddress]
    /// What is left.
    public var kept: AvatarTotals

    /// An outcome.
    public init(tooOld: [AvatarAddress], tooMuch: [AvatarAddress], kept: AvatarTotals) {
        self.tooOld = tooOld
        self.tooMuch = tooMuch
        self.kept = kept
    }

    /// Everything that went.
    public var removed: [AvatarAddress] { tooOld + tooMuch }
}

/// A picture in a store.
public struct StoredPicture: Sendable {
    /// The picture, open for reading.
    public var file: SharedDescriptor
    /// Absolute path, where it is a file with a name.
    public var path: String?
    /// Length in bytes.
    public var size: UInt64

    /// A picture.
    public init(file: SharedDescriptor, path: String?, size: UInt64) {
        self.file = file
        self.path = path
        self.size = size
    }
}

/// A file a picture is written into before it is kept.
public protocol AvatarDraft: AnyObject, Sendable {
    /// Open for reading and writing.
    var file: SharedDescriptor { get }
}

/// What is known of an original beside its bytes.
public struct AvatarRecord: Codable, Equatable, Sendable {
    /// The URL it came from.
    public var url: String
    /// Its media type, told by its first bytes.
    public var type: String
    /// Value of `ETag`, as it came.
    public var entityTag: String?
    /// Value of `Last-Modified`, as it came.
    public var lastModified: String?
    /// When it was fetched, or confirmed by the server, milliseconds since 1970.
    public var fetchedAt: Int64
    /// Until when it is shown without asking the server, milliseconds since 1970.
    public var freshUntil: Int64

    /// A record.
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

/// One address in a store, for listings.
public struct AvatarEntry: Equatable, Sendable {
    /// The address.
    public var address: AvatarAddress
    /// What is known of the original.
    public var record: AvatarRecord
    /// Bytes of the original; 0 where it was removed by hand.
    public var size: UInt64
    /// Names of the styles it is kept in, without `original`, ordered.
    public var styles: [String]
    /// Bytes of the styled pictures.
    public var styledSize: UInt64
    /// When it was used last, as far as that is known.
    public var usedAt: WallTime

    /// An entry.
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

/// A store can't be read or written.
public struct AvatarStoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What failed, where, and what to do, in one line.
    public let description: String

    /// An error.
    public init(_ description: String) { self.description = description }
}
