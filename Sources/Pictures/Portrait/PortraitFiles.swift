import FoundationEssentials
import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// The profile picture on disk.
///
///     <state>/profile.json                 the picture the server confirmed last
///     <state>/portrait/newest.json         the newest accepted picture and its fate
///     <state>/portrait/7/picture.jpg       one generation: the picture to send,
///     <state>/portrait/7/thumbnail.jpg       and its 150 × 150 pixel thumbnail
///     <state>/portrait/pending             → 7
///     <state>/portrait/pending.jpg         → pending/picture.jpg
///     <state>/portrait/pending-150.jpg     → pending/thumbnail.jpg
///     <avatars>/current.jpg                → <state>/portrait/pending.jpg, or the picture confirmed last
///
/// A generation is complete and durable before any link points to it, and never changes afterwards. Readers therefore
/// always see a whole picture. Both pending pictures go through the one link `pending`, so they change together. The
/// two JSON files are authoritative. The links are derived from them and repaired at every start.
///
/// All functions block.
struct PortraitFiles: Sendable {
    /// The stored records: restored by `open` and updated by each write.
    struct Kept: Equatable, Sendable {
        var record: PortraitRecord?
        var profile: Profile?
        /// The largest picture number ever used.
        var lastID: UInt64 = 0
    }

    /// The two pictures of a generation, created empty and open for reading and writing.
    struct Draft: Sendable {
        var picture: SharedDescriptor
        var thumbnail: SharedDescriptor
    }

    private(set) var kept = Kept()
    private let state: String
    private let avatars: String
    private let disk: PortraitDisk
    private var drafts: Set<UInt64> = []

    private var portrait: String { state + "/portrait" }

    /// Creates a value for an agent's files. Reads nothing yet.
    ///
    /// - Parameters:
    ///   - state: Absolute path of the state directory.
    ///   - avatars: Absolute path of the avatar mirror.
    init(state: String, avatars: String, disk: PortraitDisk = PortraitDisk()) {
        self.state = state
        self.avatars = avatars
        self.disk = disk
    }

    // MARK: Start

    /// Reads the stored files, completes interrupted steps and removes leftovers of a kill.
    ///
    /// - Returns: Why `current.jpg` could not be updated; nil on success.
    mutating func open() throws(Errno) -> Errno? {
        try disk.makeDirectory(portrait)
        let directory = try Directory(path: portrait)
        kept = Kept(
            record: try PortraitDisk.read("newest.json", in: directory).flatMap(PortraitRecord.init(json:)),
            profile: try Profile.read(from: state))
        let generations = try self.generations(in: directory)
        kept.lastID = ([kept.record?.id, kept.profile?.portrait] + generations).compactMap(\.self).max() ?? 0
        if var record = kept.record, record.fate == .pending {
            if let profile = kept.profile, profile.portrait == record.id {
                // A kill came between the two writes: the server has the picture.
                record.fate = .done
                record.url = profile.portraitURL
                try write(record, in: directory)
            } else if !isComplete(record.id, in: directory) {
                // The picture was removed by another program. If the dropped file still exists, a scan finds it again.
                kept.record = nil
                try disk.unlink("newest.json", in: directory)
            }
        }
        return try arrange(directory)
    }

    private func generations(in directory: Directory) throws(Errno) -> [UInt64] {
        try directory.entries().compactMap { Self.generation(String(decoding: $0.name, as: UTF8.self)) }
    }

    /// Parses a generation's directory name. Returns nil for names that the agent never uses, such as numbers beyond
    /// 32 bits.
    private static func generation(_ name: String) -> UInt64? {
        UInt32(name).flatMap { "\($0)" == name ? UInt64($0) : nil }
    }

    private func isComplete(_ id: UInt64, in directory: Directory) -> Bool {
        ["picture.jpg", "thumbnail.jpg"].allSatisfy { name in
            ((try? directory.status(Array("\(id)/\(name)".utf8)))?.size ?? 0) > 0
        }
    }

    // MARK: Drafts

    /// Creates the directory and the empty pictures of a generation.
    mutating func makeDraft(_ id: UInt64) throws(Errno) -> Draft {
        try disk.makeDirectory(portrait)
        let directory = try Directory(path: portrait)
        drafts.insert(id)
        let name = "\(id)"
        if (try? directory.status(Array(name.utf8))) != nil { try disk.removeDirectory(name, in: directory) }
        try disk.makeDirectory("\(portrait)/\(name)")
        let generation = try directory.directory(Array(name.utf8))
        return Draft(
            picture: try create("picture.jpg", in: generation), thumbnail: try create("thumbnail.jpg", in: generation))
    }

    private func create(_ name: String, in directory: Directory) throws(Errno) -> SharedDescriptor {
        try disk.step("create \(name)")
        return SharedDescriptor(
            try directory.open(Array(name.utf8), flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600))
    }

    /// Makes a generation durable after both pictures were drawn.
    ///
    /// - Throws: `Errno`; `.noData` if either picture is empty.
    func finish(_ draft: Draft, _ id: UInt64) throws(Errno) {
        for picture in [draft.picture, draft.thumbnail] {
            if try FileStatus(of: picture.rawValue).size == 0 { throw .noData }
            try disk.step("sync picture")
            try retryingOnInterrupt { fsync(picture.rawValue) }
        }
        try disk.sync(try Directory(path: "\(portrait)/\(id)"))
    }

    /// Removes an unwanted generation.
    mutating func scrap(_ id: UInt64) throws(Errno) {
        drafts.remove(id)
        removeLeftovers(try Directory(path: portrait))
    }

    // MARK: Recording decisions

    /// Makes a generation the newest and shows it. Durable on return.
    ///
    /// - Returns: Why `current.jpg` could not be updated; nil on success.
    mutating func store(_ record: PortraitRecord) throws(Errno) -> Errno? {
        let directory = try Directory(path: portrait)
        try disk.sync(directory)
        let before = kept.record
        do throws(Errno) {
            try write(record, in: directory)
            let trouble = try arrange(directory)
            drafts.remove(record.id)
            return trouble
        } catch {
            // The store failed, so the previous picture stays the newest. Its upload may be in progress.
            kept.record = before
            throw error
        }
    }

    /// Stores a changed record of the newest picture.
    mutating func note(_ record: PortraitRecord) throws(Errno) {
        try write(record, in: try Directory(path: portrait))
    }

    /// Records that the server confirmed the newest picture, and shows the avatar cache's copy.
    ///
    /// - Parameters:
    ///   - record: The newest picture's record, with the fate `done`.
    ///   - url: The URL from the server's answer.
    ///   - cached: Absolute path in the avatar cache. If nil, the cache has no copy and the state directory's picture
    ///     is shown.
    ///   - time: Confirmation time in the sidecars' format.
    /// - Returns: Why `current.jpg` could not be updated; nil on success.
    mutating func confirm(
        _ record: PortraitRecord, url: String, cached: String?, time: String
    ) throws(Errno) -> Errno? {
        let profile = Profile(
            portraitURL: url, updatedAt: time, account: record.account, path: record.drop.path.description,
            key: record.drop.key.description, picture: cached ?? "\(portrait)/\(record.id)/picture.jpg",
            portrait: record.id)
        try write(profile)
        return try end(record)
    }

    /// Shows the confirmed picture from its current path in the avatar cache. The mirror may have been moved, or the
    /// file renamed within the mirror.
    ///
    /// - Returns: Why `current.jpg` could not be updated; nil on success.
    mutating func relocate(to picture: String) throws(Errno) -> Errno? {
        guard var profile = kept.profile else { return nil }
        if profile.picture != picture {
            profile.picture = picture
            try write(profile)
        }
        return try arrange(try Directory(path: portrait))
    }

    /// Records the newest picture's final state, and shows the confirmed picture instead.
    ///
    /// - Returns: Why `current.jpg` could not be updated; nil on success.
    mutating func end(_ record: PortraitRecord) throws(Errno) -> Errno? {
        let directory = try Directory(path: portrait)
        try write(record, in: directory)
        return try arrange(directory)
    }

    /// Opens a generation's picture for reading.
    func picture(_ id: UInt64) throws(Errno) -> SharedDescriptor {
        let directory = try Directory(path: portrait)
        return SharedDescriptor(try directory.open(Array("\(id)/picture.jpg".utf8), flags: O_RDONLY | O_NOFOLLOW))
    }

    /// Absolute path of `current.jpg`; nil if the link does not lead to a regular file.
    var current: String? {
        let path = avatars + "/current.jpg"
        return (try? FileStatus(path: path))?.kind == .regular ? path : nil
    }

    private mutating func write(_ record: PortraitRecord, in directory: Directory) throws(Errno) {
        guard let bytes = try? record.json else { throw .invalidArgument }
        try disk.replace("newest.json", with: bytes, in: directory)
        kept.record = record
    }

    private mutating func write(_ profile: Profile) throws(Errno) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let bytes = try? encoder.encode(profile) else { throw .invalidArgument }
        try disk.replace("profile.json", with: Array(bytes) + Array("\n".utf8), in: try Directory(path: state))
        kept.profile = profile
    }

    // MARK: Showing the picture

    /// Updates the links. A link is removed or redirected before its target is removed.
    private func arrange(_ directory: Directory) throws(Errno) -> Errno? {
        let trouble: Errno?
        if let record = kept.record, record.fate == .pending {
            try disk.link("pending", to: "\(record.id)", in: directory)
            try disk.link("pending.jpg", to: "pending/picture.jpg", in: directory)
            try disk.link("pending-150.jpg", to: "pending/thumbnail.jpg", in: directory)
            try disk.sync(directory)
            trouble = show(portrait + "/pending.jpg")
        } else {
            trouble = show(kept.profile?.picture)
            // Removing the link `pending` makes both pictures vanish at once.
            for name in ["pending", "pending.jpg", "pending-150.jpg"] { try disk.unlink(name, in: directory) }
        }
        removeLeftovers(directory)
        return trouble
    }

    /// Points `current.jpg` at a picture; removes the link if `picture` is nil or missing.
    ///
    /// - Returns: Why the link could not be updated; nil on success.
    private func show(_ picture: String?) -> Errno? {
        do throws(Errno) {
            if let picture, (try? FileStatus(path: picture)) != nil {
                try disk.makeDirectory(avatars)
                let directory = try Directory(path: avatars)
                try disk.link("current.jpg", to: picture, in: directory)
                try disk.sync(directory)
            } else if (try? FileStatus(path: avatars)) != nil {
                let directory = try Directory(path: avatars)
                // A link that leads to another existing picture belongs to another program, and stays.
                if let target = PortraitDisk.target(of: "current.jpg", in: directory),
                    target.hasPrefix(portrait + "/") || (try? FileStatus(path: avatars + "/current.jpg")) == nil
                {
                    try disk.unlink("current.jpg", in: directory)
                }
            }
            return nil
        } catch {
            return error
        }
    }

    /// Removes unreferenced generations and files left unfinished by a kill. Ignores failures: leftovers, and foreign
    /// files with such names, do no harm.
    private func removeLeftovers(_ directory: Directory) {
        var needed = drafts
        if let record = kept.record, record.fate == .pending { needed.insert(record.id) }
        if let profile = kept.profile, profile.picture == "\(portrait)/\(profile.portrait)/picture.jpg" {
            needed.insert(profile.portrait)
        }
        for entry in (try? directory.entries()) ?? [] {
            let name = String(decoding: entry.name, as: UTF8.self)
            if let id = Self.generation(name) {
                if !needed.contains(id) { try? disk.removeDirectory(name, in: directory) }
            } else if name.hasPrefix(PortraitDisk.unfinished) {
                try? disk.unlink(name, in: directory)
            }
        }
    }
}
