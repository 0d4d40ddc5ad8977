import Glibc
public import LinuxSystem
import Logging
import PictureJobs
import SystemPackage
public import UploadCore

/// A URL that is temporarily not requested.
public struct AvatarBlacklistEntry: Equatable, Sendable {
    /// The URL.
    public var url: String
    /// The reason as a short snake_case word.
    public var code: String
    /// The reason for display, one line.
    public var message: String
    /// End of the pause.
    public var until: WallTime
}

extension AvatarCache {
    /// Stores a given picture as the original of an address, and pins only that address: trimming and clearing spare
    /// it. On return, the picture survives a power cut.
    ///
    /// - Parameter picture: Open for reading.
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
            let type = try await check(draft.file, address, by: pictures)
            let now = clock.now().wall
            let record = AvatarRecord(
                url: address.url, type: type, entityTag: nil, lastModified: nil, fetchedAt: now.milliseconds,
                freshUntil: now.advanced(by: Freshness.standard).milliseconds)
            // Pin before keeping, because keeping may trim.
            pinned = address
            try keep(draft, length: length, as: address, record)
            try inStore { () throws(AvatarStoreError) in try store.secure(address) }
        } catch {
            // The failure is not the URL's fault.
            blacklist.forget(address)
            if pinned == address { pinned = before }
            throw error
        }
        perform(desk.contentChanged(address))
        return try await self.picture(address, .original)
    }

    /// Sets the address that trimming and clearing spare; nil for none.
    public func pin(_ address: AvatarAddress?) {
        pinned = address
    }

    /// All entries, unordered.
    ///
    /// - Throws: ``AvatarStoreError``.
    public func entries() throws(AvatarStoreError) -> [AvatarEntry] { try store.entries() }

    /// URLs that are temporarily not requested, and originals that can't be drawn, ordered by URL.
    public func failures() -> [AvatarBlacklistEntry] {
        let now = clock.now().monotonic
        return (blacklist.list(now: now) + undrawable.list(now: now)).map { address, verdict in
            AvatarBlacklistEntry(
                url: address.url, code: verdict.fault.code, message: verdict.message, until: verdict.until)
        }.sorted { $0.url < $1.url }
    }

    /// Removes pictures fetched longer ago than `age`, or all, and forgets failures. Keeps the pinned address and the
    /// current picture.
    ///
    /// - Returns: The removed entries.
    /// - Throws: ``AvatarStoreError``.
    public func clear(olderThan age: Duration?) throws(AvatarStoreError) -> [AvatarEntry] {
        let spared = spared()
        let latest = age.map { clock.now().wall.advanced(by: .zero - $0).milliseconds } ?? .max
        let going = try store.entries().filter { !spared.contains($0.address) && $0.record.fetchedAt <= latest }
        let now = clock.now().monotonic
        var due = Set((blacklist.list(now: now) + undrawable.list(now: now)).map(\.address))
        blacklist.forgetAll()
        undrawable.forgetAll()
        patience = [:]
        defer {
            mirrored = nil
            wanted?.yield(.forgotten(due))
        }
        for entry in going {
            try store.remove(entry.address)
            forgetRemoved([entry.address])
            due.insert(entry.address)
        }
        return going
    }

    /// Forgets addresses that were removed from the store.
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

    /// The size of the mirror at the last count, plus later additions.
    struct MirrorCount {
        var totals: AvatarTotals
        /// Whether the totals are exact, so that nothing is counted twice.
        var isExact = true
        var countedAt: MonotonicTime
    }

    /// The kind of an addition to the mirror.
    enum Growth {
        case picture, replacement, style
    }

    /// Lifetime of a count: other programs may change the mirror too.
    private static let countLife = Duration.seconds(600)

    /// Returns the size of the mirror, counted again only from time to time.
    ///
    /// - Throws: ``AvatarStoreError``.
    public func totals() throws(AvatarStoreError) -> AvatarTotals {
        let now = clock.now().monotonic
        if let mirrored, mirrored.isExact, now < mirrored.countedAt + Self.countLife { return mirrored.totals }
        let totals = AvatarTotals(of: try store.entries())
        mirrored = MirrorCount(totals: totals, countedAt: now)
        return totals
    }

    /// Counts an addition, and trims if the mirror became too large.
    func grow(by bytes: UInt64, _ growth: Growth) {
        guard var count = mirrored else { return trim() }
        count.totals.bytes += bytes
        switch growth {
        case .picture: count.totals.count += 1
        // The replaced picture and its styles stay in the totals until the next trimming counts again.
        case .replacement: count.isExact = false
        case .style: break
        }
        mirrored = count
        if count.totals.bytes > options.maximumSize { trim() }
    }

    /// Removes pictures that are too old. If the mirror is too large, also removes the least recently used pictures.
    /// Pictures with waiters stay until delivered.
    func trim() {
        do {
            let now = clock.now()
            var spared = spared()
            let awaited = desk.awaited
            spared.addresses.formUnion(awaited)
            let isTooLarge = mirrored.map { $0.totals.bytes > options.maximumSize } ?? false
            // Leaves some room, so that the next picture does not cause another full count.
            let room = isTooLarge ? options.maximumSize / 32 : 0
            let outcome = try store.trim(
                maximumSize: options.maximumSize - room, maximumAge: options.maximumAge, now: now.wall,
                sparing: { spared.contains($0) })
            mirrored = MirrorCount(totals: outcome.kept, countedAt: now.monotonic)
            isOvergrown = outcome.kept.bytes > options.maximumSize && !awaited.isEmpty
            forgetRemoved(outcome.removed)
            // Pictures removed for lack of room are not fetched again before they are due: they would evict the next
            // ones.
            if !outcome.tooOld.isEmpty { wanted?.yield(.forgotten(Set(outcome.tooOld))) }
        } catch {
            logger.warning("the avatar mirror can't be trimmed", metadata: ["error": "\(error)"])
        }
    }

    /// Entries that are never removed.
    private struct Spared {
        var addresses: Set<AvatarAddress>
        /// The target of the link to the current picture, with symbolic links resolved.
        var currentPath: String?

        func contains(_ address: AvatarAddress) -> Bool {
            if addresses.contains(address) { return true }
            guard let currentPath else { return false }
            let place = "/" + address.place.joined(separator: "/")
            return currentPath.hasSuffix(place) || currentPath.hasSuffix(place + MirrorPlace.fileSuffix)
        }
    }

    private func spared() -> Spared {
        Spared(addresses: pinned.map { [$0] } ?? [], currentPath: options.currentPicture.flatMap(Self.realPath))
    }

    private static func realPath(_ path: String) -> String? {
        guard let raw = realpath(path, nil) else { return nil }
        defer { free(raw) }
        return String(cString: raw)
    }
}

extension SharedDescriptor {
    /// Copies the whole file into an empty file.
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
