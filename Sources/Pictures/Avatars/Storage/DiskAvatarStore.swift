import Glibc
import LinuxSystem
public import PictureJobs
import Synchronization
import SystemPackage
public import UploadCore

/// Keeps pictures in a directory that mirrors their servers (docs/faces.md): originals as ordinary files, styled
/// pictures in `.styles`, and records in `.records`.
///
/// Files without a record were put there by hand. They are never shown, counted or removed; only the picture of
/// exactly that URL replaces them. Several processes may use one directory.
public final class DiskAvatarStore: AvatarStore {
    /// Minimum interval between two recorded uses: recording costs a write.
    private static let useGranularity: Int64 = 60_000
    private static let usesRemembered = 10_000

    private let path: String
    private let opened: Mutex<MirrorDirectory>
    /// When uses were last recorded, milliseconds since 1970.
    private let uses = Mutex<[AvatarAddress: Int64]>([:])

    /// Opens a mirror, creates its directory if missing, and removes leftovers of a kill.
    ///
    /// - Parameter directory: Absolute, or relative to the current directory; may be a symbolic link.
    /// - Throws: ``AvatarStoreError`` if the directory can't be created or written to.
    public init(directory: String) throws(AvatarStoreError) {
        do {
            path = try Self.absolute(directory)
            opened = Mutex(try MirrorDirectory(path: path))
        } catch {
            throw AvatarStoreError("the mirror of pictures can't be opened", in: directory, error)
        }
    }

    /// The original of an address and its record.
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

    /// The record of an address.
    public func record(of address: AvatarAddress) throws(AvatarStoreError) -> AvatarRecord? {
        let mirror = current
        return try reading(address) { () throws(Errno) in
            try mirror.record(of: address).map { .found($0.record) } ?? .absent
        }
    }

    /// The styled picture drawn from the current original.
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

    /// Creates an empty file. If the directory was removed or replaced meanwhile, creates or opens it again.
    public func makeDraft() throws(AvatarStoreError) -> any AvatarDraft {
        do throws(Errno) {
            if !current.isInPlace(at: path) {
                let mirror = try MirrorDirectory(path: path)
                opened.withLock { $0 = mirror }
            }
            return try DiskDraft(in: current)
        } catch {
            throw AvatarStoreError("a file for a picture can't be created", in: path, error)
        }
    }

    /// Makes a draft the original of an address. Removes pictures drawn from the previous original.
    public func keep(
        _ draft: any AvatarDraft, asOriginalOf address: AvatarAddress, _ record: AvatarRecord
    ) throws(AvatarStoreError) -> StoredPicture {
        let draft = try own(draft)
        return try changing("the picture of \(address.url) can't be stored") { mirror throws(Errno) in
            let before = try mirror.record(of: address)
            // The record names pictures drawn from the previous original until they are removed.
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
            // The picture is kept, and the record no longer shows the previous ones, so a failure here does no harm.
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
        return try changing("the picture of \(address.url) can't be stored as \(style.name)") { mirror throws(Errno) in
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

    /// Replaces the record of the original.
    public func update(_ record: AvatarRecord, of address: AvatarAddress) throws(AvatarStoreError) {
        try changing("the record of \(address.url) can't be written") { mirror throws(Errno) in
            guard let (before, usedAt) = try mirror.record(named: MirrorRecord.name(for: address)) else { return }
            var kept = before
            kept.record = record
            try mirror.write(kept, of: address, usedAt: usedAt, isNew: false)
        }
    }

    /// Writes the original, its record and their directories to the disk (man 2 fsync).
    public func secure(_ address: AvatarAddress) throws(AvatarStoreError) {
        try changing("the picture of \(address.url) can't be written to the disk") { mirror throws(Errno) in
            guard let kept = try mirror.record(of: address), let found = try mirror.find(address.parts, kept.original)
            else { return }
            try mirror.flush(found.file, at: address.parts)
            try mirror.flushRecord(of: address)
        }
    }

    /// Records that a picture was used now, at most once a minute.
    public func touch(_ address: AvatarAddress, at time: WallTime) {
        let isNoted = uses.withLock { uses in
            if let last = uses[address], abs(time.milliseconds - last) < Self.useGranularity { return true }
            if uses.count >= Self.usesRemembered { uses.removeAll() }
            uses[address] = time.milliseconds
            return false
        }
        // A failure only affects the order of trimming.
        if !isNoted { try? current.setUse(of: address, time) }
    }

    /// Removes the original and its styled pictures.
    public func remove(_ address: AvatarAddress) throws(AvatarStoreError) {
        try changing("the picture of \(address.url) can't be removed") { mirror throws(Errno) in
            try Self.remove(address, try mirror.record(of: address), from: mirror)
        }
    }
}

// MARK: - All entries

extension DiskAvatarStore {
    /// All entries.
    public func entries() throws(AvatarStoreError) -> [AvatarEntry] {
        let mirror = current
        do {
            return try Self.survey(mirror).entries
        } catch {
            throw AvatarStoreError("the mirror of pictures can't be read", in: path, error)
        }
    }

    /// Removes pictures that are too old, then the least recently used ones until the rest fits. Also removes records
    /// without a picture, left by a kill or by someone who removed files by hand.
    public func trim(
        maximumSize: UInt64, maximumAge: Duration?, now: WallTime, sparing isSpared: (AvatarAddress) -> Bool
    ) throws(AvatarStoreError) -> AvatarTrim {
        try changing("pictures can't be removed") { mirror throws(Errno) in
            let survey = try Self.survey(mirror)
            for name in survey.unreadable { try mirror.removeRecord(named: name) }
            let claimed = Set(survey.entries.map(\.address.place))
            for address in survey.dangling {
                // If places collide, the file belongs to the other address.
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
        /// Addresses of records without a picture.
        var dangling: [AvatarAddress] = []
        /// Names of unreadable records.
        var unreadable: [[UInt8]] = []
    }

    private static func survey(_ mirror: MirrorDirectory) throws(Errno) -> Survey {
        var survey = Survey()
        for name in try mirror.recordNames() {
            guard let (kept, usedAt) = try mirror.record(named: name),
                let address = try? AvatarAddress(kept.record.url), MirrorRecord.name(for: address) == name
            else {
                // Keep records of a newer program, which can read them.
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

    /// Whether any picture drawn from the recorded original exists. It is shown even if the original was removed by
    /// hand.
    private static func hasStyle(
        _ kept: MirrorRecord, of address: AvatarAddress, in mirror: MirrorDirectory
    ) throws(Errno) -> Bool {
        for (style, styled) in kept.styled where styled.original == kept.original {
            if try mirror.find(StylePlace.parts(of: address, styleName: style), styled.stamp) != nil { return true }
        }
        return false
    }

    /// Restores the previous record after a picture could not be moved to its place.
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

    /// Removes pictures first and the record last, so that after a kill the record still names the leftovers.
    private static func remove(
        _ address: AvatarAddress, _ kept: MirrorRecord?, from mirror: MirrorDirectory
    ) throws(Errno) {
        guard let kept else { return }
        for style in kept.styled.keys { try mirror.remove(StylePlace.parts(of: address, styleName: style)) }
        try mirror.remove(address.parts)
        try mirror.removeRecord(named: MirrorRecord.name(for: address))
    }
}

// MARK: - Access to the directory

extension DiskAvatarStore {
    private enum Look<Found> {
        case found(Found)
        case absent
        /// The record names a missing file: it is being replaced right now, or was removed by hand.
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

    /// Repeats the look-up under the lock, while no process replaces files.
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
            throw AvatarStoreError(
                "a draft of another store can't be stored in \(path): this is a bug, please report it")
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
    /// The place as file names.
    fileprivate var parts: [[UInt8]] { place.map { Array($0.utf8) } }
}

extension PictureStyle {
    /// The steps of the style, as stored in records.
    fileprivate var spelling: [String] { steps.map(\.description) }
}

/// A file in the workshop directory of a mirror.
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
        // The directory was removed and created again; this file was lost with the old one.
        if self.mirror !== mirror { throw .noSuchFileOrDirectory }
        try mirror.put(name, at: place)
    }

    // A kept file has left the workshop, and its name there is never reused.
    deinit { try? mirror.workshop.unlink(name) }
}
