import Glibc
import LinuxSystem
public import PictureJobs
import Synchronization
import SystemPackage
public import UploadCore

/// Keeps pictures as a directory that mirrors their servers (docs/avatars.md): originals as files people can open,
/// styled pictures in `.styles`, and what is known of them in `.records`.
///
/// Files without a record, which somebody put there by hand, are never shown, counted or removed; only the picture of
/// that very URL takes their place. Several processes may use one directory.
public final class DiskAvatarStore: AvatarStore {
    /// Uses closer together than this are one: noting them costs a write.
    private static let useGranularity: Int64 = 60_000
    private static let usesRemembered = 10_000

    private let path: String
    private let opened: Mutex<MirrorDirectory>
    /// When uses were last noted, milliseconds since 1970.
    private let uses = Mutex<[AvatarAddress: Int64]>([:])

    /// Opens a mirror, makes its directory where it is missing, and removes what a kill has left unfinished.
    ///
    /// - Parameter directory: absolute, or relative to the current directory; may itself be a symbolic link.
    /// - Throws: ``AvatarStoreError`` where the directory can't be made or written to.
    public init(directory: String) throws(AvatarStoreError) {
        do {
            path = try Self.absolute(directory)
            opened = Mutex(try MirrorDirectory(path: path))
        } catch {
            throw AvatarStoreError("the mirror of pictures can't be opened", in: directory, error)
        }
    }

    /// The original of an address and what is known of it.
    public func original(
        of address: AvatarAddress
    ) throws(AvatarStoreError) -> (picture: StoredPicture, record: AvatarRecord)? {
        let mirror = current
        return try reading(address) { () throws(Errno) in
            guard let kept = try mirror.record(of: address) else { return .absent }
            guard let found = try mirror.find(address.parts, kept.original) else { return .unsettled }
            return .found((self.picture(found.file, found.path, kept.original), kept.record))
        }
    }

    /// What is known of an address.
    public func record(of address: AvatarAddress) throws(AvatarStoreError) -> AvatarRecord? {
        let mirror = current
        return try reading(address) { () throws(Errno) in
            try mirror.record(of: address).map { .found($0.record) } ?? .absent
        }
    }

    /// The styled picture, drawn from the original that is kept now.
    public func styled(_ address: AvatarAddress, _ style: PictureStyle) throws(AvatarStoreError) -> StoredPicture? {
        let mirror = current
        return try reading(address) { () throws(Errno) in
            guard let kept = try mirror.record(of: address), let styled = kept.styled[style.name],
                styled.steps == style.spelling, styled.original == kept.original
            else { return .absent }
            let place = StylePlace.parts(of: address, styleName: style.name)
            guard let found = try mirror.find(place, styled.stamp) else { return .unsettled }
            return .found(self.picture(found.file, found.path, styled.stamp))
        }
    }

    /// An empty file; when the directory was removed or replaced meanwhile, it is made or opened again.
    public func makeDraft() throws(AvatarStoreError) -> any AvatarDraft {
        do throws(Errno) {
            if !current.isInPlace(at: path) {
                let mirror = try MirrorDirectory(path: path)
                opened.withLock { $0 = mirror }
            }
            return try DiskDraft(in: current)
        } catch {
            throw AvatarStoreError("no file can be made for a picture", in: path, error)
        }
    }

    /// Makes a draft the original of an address; what was drawn from the one before goes.
    public func keep(
        _ draft: any AvatarDraft, asOriginalOf address: AvatarAddress, _ record: AvatarRecord
    ) throws(AvatarStoreError) -> StoredPicture {
        let draft = try own(draft)
        return try changing("the picture of \(address.url) can't be kept") { mirror throws(Errno) in
            let before = try mirror.record(of: address)
            // What was drawn from the one before stays named until it is gone.
            let kept = MirrorRecord(
                record: record, original: try MirrorRecord.Stamp.mark(draft.file.rawValue),
                styled: before?.styled ?? [:])
            let usedAt = WallTime(milliseconds: record.fetchedAt)
            try mirror.write(kept, of: address, usedAt: usedAt, isNew: before == nil)
            do throws(Errno) {
                try draft.put(at: address.parts, in: mirror)
            } catch {
                try Self.restore(before, of: address, in: mirror)
                throw error
            }
            // The picture is kept, and nothing shows the former ones, whatever becomes of them.
            try? Self.dropStyles(kept, of: address, usedAt: usedAt, in: mirror)
            return try self.found(address.parts, kept.original, in: mirror)
        }
    }

    /// Makes a draft the styled picture of an address.
    public func keep(
        _ draft: any AvatarDraft, asStyled address: AvatarAddress, _ style: PictureStyle,
        drawnFrom original: StoredPicture
    ) throws(AvatarStoreError) -> StoredPicture {
        let draft = try own(draft)
        return try changing("the picture of \(address.url) can't be kept as \(style.name)") { mirror throws(Errno) in
            guard let (before, usedAt) = try mirror.record(named: MirrorRecord.name(for: address)),
                before.original == (try MirrorRecord.Stamp(of: original.file.rawValue))
            else {
                let size = try FileStatus(of: draft.file.rawValue).size
                return StoredPicture(file: draft.file, path: nil, size: size)
            }
            let stamp = try MirrorRecord.Stamp.mark(draft.file.rawValue)
            var kept = before
            kept.styled[style.name] = MirrorRecord.Styled(
                steps: style.spelling, original: kept.original, stamp: stamp)
            let place = StylePlace.parts(of: address, styleName: style.name)
            try mirror.write(kept, of: address, usedAt: usedAt, isNew: false)
            do throws(Errno) {
                try draft.put(at: place, in: mirror)
            } catch {
                try Self.restore(before, of: address, in: mirror)
                throw error
            }
            return try self.found(place, stamp, in: mirror)
        }
    }

    /// Changes what is known of the original.
    public func update(_ record: AvatarRecord, of address: AvatarAddress) throws(AvatarStoreError) {
        try changing("what is known of \(address.url) can't be written") { mirror throws(Errno) in
            guard let (before, usedAt) = try mirror.record(named: MirrorRecord.name(for: address)) else { return }
            var kept = before
            kept.record = record
            try mirror.write(kept, of: address, usedAt: usedAt, isNew: false)
        }
    }

    /// Writes the original, its record and the way to both to the disk (man 2 fsync).
    public func secure(_ address: AvatarAddress) throws(AvatarStoreError) {
        try changing("the picture of \(address.url) can't be written to the disk") { mirror throws(Errno) in
            guard let kept = try mirror.record(of: address), let found = try mirror.find(address.parts, kept.original)
            else { return }
            try mirror.flush(found.file, at: address.parts)
            try mirror.flushRecord(of: address)
        }
    }

    /// Notes that a picture was used now; of several uses in a minute the first alone.
    public func touch(_ address: AvatarAddress, at time: WallTime) {
        let isNoted = uses.withLock { uses in
            if let last = uses[address], abs(time.milliseconds - last) < Self.useGranularity { return true }
            if uses.count >= Self.usesRemembered { uses.removeAll() }
            uses[address] = time.milliseconds
            return false
        }
        // The order of trimming is all that depends on it.
        if !isNoted { try? current.setUse(of: address, time) }
    }

    /// Removes the original and what was drawn from it.
    public func remove(_ address: AvatarAddress) throws(AvatarStoreError) {
        try changing("the picture of \(address.url) can't be removed") { mirror throws(Errno) in
            try Self.remove(address, try mirror.record(of: address), from: mirror)
        }
    }
}

// MARK: - The whole

extension DiskAvatarStore {
    /// Everything that is kept.
    public func entries() throws(AvatarStoreError) -> [AvatarEntry] {
        let mirror = current
        do {
            return try Self.survey(mirror).entries
        } catch {
            throw AvatarStoreError("the mirror of pictures can't be read", in: path, error)
        }
    }

    /// Removes what is too old, then what was used least recently until all fit; and records that a kill, or somebody
    /// who removed files by hand, left without a picture.
    public func trim(
        maximumSize: UInt64, maximumAge: Duration?, now: WallTime, sparing isSpared: (AvatarAddress) -> Bool
    ) throws(AvatarStoreError) -> AvatarTrim {
        try changing("pictures can't be removed") { mirror throws(Errno) in
            let survey = try Self.survey(mirror)
            for name in survey.unreadable { try mirror.removeRecord(named: name) }
            let claimed = Set(survey.entries.map(\.address.place))
            for address in survey.dangling {
                // Where names collide, what stands there belongs to the other.
                if claimed.contains(address.place) {
                    try mirror.removeRecord(named: MirrorRecord.name(for: address))
                } else {
                    try Self.remove(address, try mirror.record(of: address), from: mirror)
                }
            }
            let pinned = Set(survey.entries.map(\.address).filter(isSpared))
            let outcome = Trimming(maximumSize: maximumSize, maximumAge: maximumAge, now: now, pinned: pinned)
                .outcome(of: survey.entries)
            for address in outcome.removed { try Self.remove(address, try mirror.record(of: address), from: mirror) }
            return outcome
        }
    }

    private struct Survey {
        var entries: [AvatarEntry] = []
        /// Records of which no picture is there.
        var dangling: [AvatarAddress] = []
        /// Names of files that are no records.
        var unreadable: [[UInt8]] = []
    }

    private static func survey(_ mirror: MirrorDirectory) throws(Errno) -> Survey {
        var survey = Survey()
        for name in try mirror.recordNames() {
            guard let (kept, usedAt) = try mirror.record(named: name),
                let address = try? AvatarAddress(kept.record.url), MirrorRecord.name(for: address) == name
            else {
                // A newer program knows what its own are good for.
                if !mirror.isFromNewerProgram(recordNamed: name) { survey.unreadable.append(name) }
                continue
            }
            let isThere = try mirror.find(address.parts, kept.original) != nil
            let isShown = isThere ? true : try Self.hasStyle(kept, of: address, in: mirror)
            if !isShown {
                survey.dangling.append(address)
                continue
            }
            survey.entries.append(
                AvatarEntry(
                    address: address, record: kept.record, size: isThere ? kept.original.size : 0,
                    styles: kept.styles,
                    styledSize: kept.styled.values.reduce(0) { $0 + $1.stamp.size }, usedAt: usedAt))
        }
        return survey
    }

    /// Whether anything drawn from the original that is meant is there: it is shown though that one was removed by hand.
    private static func hasStyle(
        _ kept: MirrorRecord, of address: AvatarAddress, in mirror: MirrorDirectory
    ) throws(Errno) -> Bool {
        for (style, styled) in kept.styled where styled.original == kept.original {
            if try mirror.find(StylePlace.parts(of: address, styleName: style), styled.stamp) != nil { return true }
        }
        return false
    }

    /// Puts the record back that was there before a picture could not come to its place.
    private static func restore(
        _ before: MirrorRecord?, of address: AvatarAddress, in mirror: MirrorDirectory
    ) throws(Errno) {
        guard let before else { return try mirror.removeRecord(named: MirrorRecord.name(for: address)) }
        let usedAt = WallTime(milliseconds: before.record.fetchedAt)
        try mirror.write(before, of: address, usedAt: usedAt, isNew: false)
    }

    private static func dropStyles(
        _ kept: MirrorRecord, of address: AvatarAddress, usedAt: WallTime, in mirror: MirrorDirectory
    ) throws(Errno) {
        if kept.styled.isEmpty { return }
        for style in kept.styled.keys { try mirror.remove(StylePlace.parts(of: address, styleName: style)) }
        var bare = kept
        bare.styled = [:]
        try mirror.write(bare, of: address, usedAt: usedAt, isNew: false)
    }

    /// Pictures first and the record last: what a kill leaves is still named by it.
    private static func remove(
        _ address: AvatarAddress, _ kept: MirrorRecord?, from mirror: MirrorDirectory
    ) throws(Errno) {
        guard let kept else { return }
        for style in kept.styled.keys { try mirror.remove(StylePlace.parts(of: address, styleName: style)) }
        try mirror.remove(address.parts)
        try mirror.removeRecord(named: MirrorRecord.name(for: address))
    }
}

// MARK: - Ways in

extension DiskAvatarStore {
    private enum Look<Found> {
        case found(Found)
        case absent
        /// The record names a file that is not there: it is being replaced right now, or somebody removed it.
        case unsettled
    }

    private var current: MirrorDirectory { opened.withLock { $0 } }

    private func reading<Found>(
        _ address: AvatarAddress, _ look: () throws(Errno) -> Look<Found>
    ) throws(AvatarStoreError) -> Found? {
        do {
            if case .found(let found) = try settled(look) { return found }
            return nil
        } catch {
            throw AvatarStoreError("the picture of \(address.url) can't be read", in: path, error)
        }
    }

    /// Looks once more while nobody replaces anything.
    private func settled<Found>(_ look: () throws(Errno) -> Look<Found>) throws(Errno) -> Look<Found> {
        let first = try look()
        guard case .unsettled = first else { return first }
        return try current.withLock(look)
    }

    private func changing<Result>(
        _ failure: String, _ body: (MirrorDirectory) throws(Errno) -> Result
    ) throws(AvatarStoreError) -> Result {
        let mirror = current
        do {
            return try mirror.withLock { () throws(Errno) -> Result in try body(mirror) }
        } catch {
            throw AvatarStoreError(failure, in: path, error)
        }
    }

    private func own(_ draft: any AvatarDraft) throws(AvatarStoreError) -> DiskDraft {
        guard let own = draft as? DiskDraft else {
            throw AvatarStoreError("a draft of another store can't be kept in \(path): this is a bug, please report it")
        }
        return own
    }

    private func found(
        _ place: [[UInt8]], _ stamp: MirrorRecord.Stamp, in mirror: MirrorDirectory
    ) throws(Errno) -> StoredPicture {
        guard let found = try mirror.find(place, stamp) else { throw .noSuchFileOrDirectory }
        return picture(found.file, found.path, stamp)
    }

    private func picture(_ file: SharedDescriptor, _ below: [UInt8], _ stamp: MirrorRecord.Stamp) -> StoredPicture {
        StoredPicture(
            file: file, path: "\(path)/\(String(decoding: below, as: UTF8.self))", size: stamp.size)
    }

    private static func absolute(_ path: String) throws(Errno) -> String {
        var path = path
        if !path.hasPrefix("/") {
            guard let here = getcwd(nil, 0) else { throw Errno(rawValue: errno) }
            defer { free(here) }
            path = "\(String(cString: here))/\(path)"
        }
        while path.utf8.count > 1 && path.hasSuffix("/") { path.removeLast() }
        return path
    }
}

extension AvatarAddress {
    /// The place as names of files.
    fileprivate var parts: [[UInt8]] { place.map { Array($0.utf8) } }
}

extension PictureStyle {
    /// What a picture was drawn by, as records hold it.
    fileprivate var spelling: [String] { steps.map(\.description) }
}

/// A file in the workshop of a mirror.
private final class DiskDraft: AvatarDraft {
    let file: SharedDescriptor
    let mirror: MirrorDirectory
    let name: [UInt8]

    init(in mirror: MirrorDirectory) throws(Errno) {
        let (name, file) = try mirror.makeFile()
        self.file = file
        self.mirror = mirror
        self.name = name
    }

    func put(at place: [[UInt8]], in mirror: MirrorDirectory) throws(Errno) {
        // The directory was removed and made anew; the file went with the old one.
        if self.mirror !== mirror { throw .noSuchFileOrDirectory }
        try mirror.put(name, at: place)
    }

    // Once it is kept, it has left the workshop, and its name there is never given again.
    deinit { try? mirror.workshop.unlink(name) }
}
