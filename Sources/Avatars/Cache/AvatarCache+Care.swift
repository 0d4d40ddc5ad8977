import Glibc
public import LinuxSystem
import Logging
import PictureJobs
import SystemPackage
public import UploadCore

/// A URL that is not asked again for now.
public struct AvatarBlacklistEntry: Equatable, Sendable {
    /// The URL.
    public var url: String
    /// Why: a short snake_case word.
    public var code: String
    /// Why: for people, one line.
    public var message: String
    /// Until when.
    public var until: WallTime
}

extension AvatarCache {
    /// Takes a picture that is at hand as the original of an address, and pins that address alone: trimming and
    /// clearing spare it.
    ///
    /// - Parameter picture: open for reading.
    /// - Throws: ``AvatarFailure``.
    public func adopt(_ picture: SharedDescriptor, as address: AvatarAddress) async throws(AvatarFailure)
        -> AvatarPicture
    {
        let draft = try inStore { () throws(AvatarStoreError) in try store.makeDraft() }
        let length: UInt64
        do {
            length = try picture.copy(to: draft.file)
        } catch {
            throw .storage("the picture can't be copied into the mirror: \(error)")
        }
        let before = pinned
        do {
            let type = try await check(draft.file, address)
            let now = clock.now().wall
            let record = AvatarRecord(
                url: address.url, type: type, entityTag: nil, lastModified: nil, fetchedAt: now.milliseconds,
                freshUntil: now.advanced(by: Freshness.standard).milliseconds)
            // Before it is kept, since keeping it may trim.
            pinned = address
            try keep(draft, length: length, as: address, record)
        } catch {
            // The URL had no part in it.
            blacklist.forget(address)
            if pinned == address { pinned = before }
            throw error
        }
        perform(desk.contentChanged(address))
        return try await self.picture(address, .original)
    }

    /// Says which address trimming and clearing spare; nil: none.
    public func pin(_ address: AvatarAddress?) {
        pinned = address
    }

    /// Everything that is kept, in no order.
    ///
    /// - Throws: ``AvatarStoreError``.
    public func entries() throws(AvatarStoreError) -> [AvatarEntry] { try store.entries() }

    /// URLs that are not asked again for now, and originals that can't be drawn, ordered by URL.
    public func failures() -> [AvatarBlacklistEntry] {
        let now = clock.now().monotonic
        return (blacklist.list(now: now) + undrawable.list(now: now)).map { address, verdict in
            AvatarBlacklistEntry(
                url: address.url, code: verdict.fault.code, message: verdict.message, until: verdict.until)
        }.sorted { $0.url < $1.url }
    }

    /// Removes what was fetched longer ago than `age`, or everything, and forgets what failed; the pinned address and
    /// the current picture stay.
    ///
    /// - Returns: what was removed.
    /// - Throws: ``AvatarStoreError``.
    public func clear(olderThan age: Duration?) throws(AvatarStoreError) -> [AvatarEntry] {
        let entries = try store.entries()
        let spared = spared(among: entries)
        let latest = age.map { clock.now().wall.advanced(by: .zero - $0).milliseconds } ?? .max
        let going = entries.filter { !spared.contains($0.address) && $0.record.fetchedAt <= latest }
        blacklist.forgetAll()
        undrawable.forgetAll()
        patience = [:]
        defer { mirroredSize = nil }
        for entry in going {
            try store.remove(entry.address)
            forgetRemoved([entry.address])
        }
        return going
    }

    /// Follows addresses that the store has no more.
    func forgetRemoved(_ addresses: [AvatarAddress]) {
        for address in addresses {
            memory.removeAll(of: address)
            undrawable.forget(address)
            patience[address] = nil
            perform(desk.contentRemoved(address))
            onEvent(.removed(url: address.url))
        }
    }

    // MARK: Size

    /// Trims when the mirror has grown too large.
    func grow(by bytes: UInt64) {
        guard let before = mirroredSize else { return trim() }
        mirroredSize = before + bytes
        // Replaced pictures are counted twice: the next trimming counts anew.
        if before + bytes > options.maximumSize { trim() }
    }

    /// Removes what is too old, and what has not been used for longest where the mirror is too large.
    func trim() {
        do {
            let now = clock.now().wall
            let before = try store.entries()
            let size = before.reduce(0) { $0 + $1.size + $1.styledSize }
            // Some room, so that the next picture does not make everything be counted again.
            let isTooLarge = size > options.maximumSize
            let room = isTooLarge ? options.maximumSize / 32 : 0
            let gone = try store.trim(
                maximumSize: options.maximumSize - room, maximumAge: options.maximumAge, now: now,
                sparing: spared(among: before))
            let goneSet = Set(gone)
            mirroredSize = before.reduce(0) { $0 + (goneSet.contains($1.address) ? 0 : $1.size + $1.styledSize) }
            forgetRemoved(gone)
        } catch {
            logger.warning("the avatar mirror can't be trimmed", metadata: ["error": "\(error)"])
        }
    }

    /// What stays whatever happens.
    private func spared(among entries: [AvatarEntry]) -> Set<AvatarAddress> {
        var spared: Set<AvatarAddress> = pinned.map { [$0] } ?? []
        guard let link = options.currentPicture, let target = Self.realPath(link) else { return spared }
        for entry in entries where target.contains(entry.address.place[0]) {
            if let path = (try? store.original(of: entry.address))?.picture.path, Self.realPath(path) == target {
                spared.insert(entry.address)
            }
        }
        return spared
    }

    private static func realPath(_ path: String) -> String? {
        guard let raw = realpath(path, nil) else { return nil }
        defer { free(raw) }
        return String(cString: raw)
    }
}

extension SharedDescriptor {
    /// Copies everything into an empty file.
    fileprivate func copy(to other: SharedDescriptor) throws(Errno) -> UInt64 {
        var offset: UInt64 = 0
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 1)
        defer { buffer.deallocate() }
        while true {
            let count = try read(into: buffer, at: offset)
            if count == 0 { return offset }
            var rest = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            while !rest.isEmpty {
                let written = try retryingOnInterrupt {
                    pwrite(other.rawValue, rest.baseAddress, rest.count, off_t(offset))
                }
                offset += UInt64(written)
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            }
        }
    }
}
