import FoundationEssentials
import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// The profile picture on disk.
///
///     <state>/profile.json                 what the server confirmed last
///     <state>/portrait/newest.json         the newest picture that was taken, and what became of it
///     <state>/portrait/7/picture.jpg       one generation: the picture as it is sent,
///     <state>/portrait/7/thumbnail.jpg       and 150 × 150 pixels of it
///     <state>/portrait/pending             → 7
///     <state>/portrait/pending.jpg         → pending/picture.jpg
///     <state>/portrait/pending-150.jpg     → pending/thumbnail.jpg
///     <avatars>/current.jpg                → <state>/portrait/pending.jpg, or what was confirmed last
///
/// A generation is complete and durable before anything points at it, and never changes: whoever opens a picture reads
/// it whole. Both pending pictures hang on the one link `pending`, so they change together. The two JSON files decide;
/// the links follow from them, and are put right at every start.
///
/// Its functions block.
struct PortraitFiles: Sendable {
    /// What was kept of the life before.
    struct Kept: Equatable, Sendable {
        var record: PortraitRecord?
        var profile: Profile?
        /// The largest number that any picture had.
        var lastID: UInt64 = 0
    }

    /// The two pictures of a generation, empty and open for reading and writing.
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

    /// The files of an agent.
    ///
    /// - Parameters:
    ///   - state: absolute path of the state directory.
    ///   - avatars: absolute path of the mirror of pictures.
    init(state: String, avatars: String, disk: PortraitDisk = PortraitDisk()) {
        self.state = state
        self.avatars = avatars
        self.disk = disk
    }

    // MARK: Start

    /// Reads what was kept, finishes what a kill interrupted and removes what it left behind.
    ///
    /// - Returns: why `current.jpg` can't be put right, if it can't.
    mutating func open() throws(Errno) -> Errno? {
        try disk.makeDirectory(portrait)
        let directory = try Directory(path: portrait)
        kept = Kept(
            record: try PortraitDisk.read("newest.json", in: directory).flatMap(PortraitRecord.init(json:)),
            profile: try PortraitDisk.read("profile.json", in: try Directory(path: state)).flatMap { bytes in
                try? JSONDecoder().decode(Profile.self, from: Data(bytes))
            })
        let generations = try self.generations(in: directory)
        kept.lastID = ([kept.record?.id, kept.profile?.portrait] + generations).compactMap(\.self).max() ?? 0
        if var record = kept.record, record.fate == .pending {
            if let profile = kept.profile, profile.portrait == record.id {
                // Killed between the two: the server has it.
                record.fate = .done
                record.url = profile.portraitURL
                try write(record, in: directory)
            } else if !isComplete(record.id, in: directory) {
                // Somebody took the picture away; the file it was made from is found again, if it is still there.
                kept.record = nil
                try disk.unlink("newest.json", in: directory)
            }
        }
        return try arrange(directory)
    }

    private func generations(in directory: Directory) throws(Errno) -> [UInt64] {
        try directory.entries().compactMap { Self.generation(String(decoding: $0.name, as: UTF8.self)) }
    }

    /// The generation that a directory of this name would be; names with numbers that are never reached are foreign.
    private static func generation(_ name: String) -> UInt64? {
        UInt32(name).flatMap { "\($0)" == name ? UInt64($0) : nil }
    }

    private func isComplete(_ id: UInt64, in directory: Directory) -> Bool {
        ["picture.jpg", "thumbnail.jpg"].allSatisfy { name in
            ((try? directory.status(Array("\(id)/\(name)".utf8)))?.size ?? 0) > 0
        }
    }

    // MARK: Drafts

    /// Makes room for a generation.
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

    /// Makes a generation durable, once both pictures are drawn.
    ///
    /// - Throws: `Errno`; `.noData` where one of them is empty.
    func finish(_ draft: Draft, _ id: UInt64) throws(Errno) {
        for picture in [draft.picture, draft.thumbnail] {
            if try FileStatus(of: picture.rawValue).size == 0 { throw .noData }
            try disk.step("sync picture")
            try retryingOnInterrupt { fsync(picture.rawValue) }
        }
        try disk.sync(try Directory(path: "\(portrait)/\(id)"))
    }

    /// Removes a generation that is not wanted.
    mutating func scrap(_ id: UInt64) throws(Errno) {
        drafts.remove(id)
        removeLeftovers(try Directory(path: portrait))
    }

    // MARK: What is decided

    /// Makes a generation the newest; durable on return, and shown.
    ///
    /// - Returns: why `current.jpg` can't be put right, if it can't.
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
            // Until it is stored after all, the one before is the newest, and may be under way.
            kept.record = before
            throw error
        }
    }

    /// Notes what changed of the newest.
    mutating func note(_ record: PortraitRecord) throws(Errno) {
        try write(record, in: try Directory(path: portrait))
    }

    /// Puts down that the server has the newest, and shows it from where the avatar cache keeps it.
    ///
    /// - Parameters:
    ///   - record: the newest, done.
    ///   - url: what the server answered.
    ///   - cached: absolute path in the avatar cache; nil where that could not take it: then it stays where it is.
    ///   - time: as sidecars write times.
    /// - Returns: why `current.jpg` can't be put right, if it can't.
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

    /// Shows what was confirmed from where the avatar cache keeps it now: the mirror may have been moved, or the file
    /// renamed within.
    ///
    /// - Returns: why `current.jpg` can't be put right, if it can't.
    mutating func relocate(to picture: String) throws(Errno) -> Errno? {
        guard var profile = kept.profile else { return nil }
        if profile.picture != picture {
            profile.picture = picture
            try write(profile)
        }
        return try arrange(try Directory(path: portrait))
    }

    /// Puts down that the newest came to its end, and shows what is to be shown then.
    ///
    /// - Returns: why `current.jpg` can't be put right, if it can't.
    mutating func end(_ record: PortraitRecord) throws(Errno) -> Errno? {
        let directory = try Directory(path: portrait)
        try write(record, in: directory)
        return try arrange(directory)
    }

    /// The picture of a generation, open for reading.
    func picture(_ id: UInt64) throws(Errno) -> SharedDescriptor {
        let directory = try Directory(path: portrait)
        return SharedDescriptor(try directory.open(Array("\(id)/picture.jpg".utf8), flags: O_RDONLY | O_NOFOLLOW))
    }

    /// Absolute path of the link to the picture that is shown; nil where there is none.
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

    // MARK: What follows from it

    /// Puts the links right: nothing that is pointed at goes before what points at it.
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
            // Both pictures vanish in one moment.
            for name in ["pending", "pending.jpg", "pending-150.jpg"] { try disk.unlink(name, in: directory) }
        }
        removeLeftovers(directory)
        return trouble
    }

    /// Has `current.jpg` point at a picture, or takes it away.
    ///
    /// - Returns: why that was not possible.
    private func show(_ picture: String?) -> Errno? {
        do throws(Errno) {
            if let picture, (try? FileStatus(path: picture)) != nil {
                try disk.makeDirectory(avatars)
                let directory = try Directory(path: avatars)
                try disk.link("current.jpg", to: picture, in: directory)
                try disk.sync(directory)
            } else if (try? FileStatus(path: avatars)) != nil {
                let directory = try Directory(path: avatars)
                // A link that leads to another picture was made by somebody else, and stays.
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

    /// Removes generations that nothing points at, and files that a kill left unfinished; what can't be removed, and
    /// what is none of these in spite of its name, does no harm.
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
