import Glibc
import LinuxSystem
import PictureJobs
import UploadCore

extension AvatarCache {
    /// The result of a look-up.
    enum Finding {
        case picture(AvatarPicture)
        /// Only the original is there; the style must be drawn.
        case original
        /// The server must be asked.
        case nothing
    }

    /// Looks in memory, then in the store.
    ///
    /// - Throws: The address's blacklist entry as a failure, or a failure of the store.
    func lookUp(_ wish: AvatarWish) throws(AvatarFailure) -> Finding {
        let now = clock.now()
        if let shown = memory.picture(wish.address, wish.style), now.monotonic < shown.until,
            shown.isSecure || !wish.address.isSecure
        {
            if shown.picture.isInPlace {
                store.touch(wish.address, at: now.wall)
                return .picture(shown.picture)
            }
            memory.removeAll(of: wish.address)
        }
        guard let found = try find(wish) else {
            if let verdict = blacklist.verdict(on: wish.address, now: now.monotonic) { throw AvatarFailure(verdict) }
            return .nothing
        }
        let goodUntil = goodUntil(found.record, of: wish.address, now)
        if goodUntil <= now.monotonic { return .nothing }
        if let stored = found.picture {
            let picture = try picture(stored, found.record, wish.style)
            show(picture, wish, found.record, until: goodUntil, now)
            return .picture(picture)
        }
        if let verdict = undrawable.verdict(on: wish.address, now: now.monotonic) { throw AvatarFailure(verdict) }
        return .original
    }

    /// Returns the record of an address, and its picture in a style; nil if the store has nothing.
    ///
    /// A styled picture counts without its original, which may have been removed by hand. For an https address, a
    /// picture fetched over http is stale: anyone on the path could have replaced it.
    func find(_ wish: AvatarWish) throws(AvatarFailure) -> (picture: StoredPicture?, record: AvatarRecord)? {
        guard var found = try stored(wish) else { return nil }
        if wish.address.isSecure, !found.record.isSecure { found.record.freshUntil = 0 }
        return found
    }

    private func stored(
        _ wish: AvatarWish
    ) throws(AvatarFailure) -> (picture: StoredPicture?, record: AvatarRecord)? {
        try inStore { () throws(AvatarStoreError) in
            if wish.style.isOriginal { return try store.original(of: wish.address).map { ($0.picture, $0.record) } }
            guard let record = try store.record(of: wish.address) else { return nil }
            return (try store.styled(wish.address, wish.style), record)
        }
    }

    private func show(
        _ picture: AvatarPicture, _ wish: AvatarWish, _ record: AvatarRecord, until: MonotonicTime, _ now: Now
    ) {
        let shown = Shown(picture: picture, until: until, isSecure: record.isSecure)
        // The address's text is stored in the picture's slot, its index and its path.
        let cost = picture.bytes.count + 1024 + 3 * wish.address.url.utf8.count
        memory.insert(shown, cost: cost, for: wish.address, wish.style)
        store.touch(wish.address, at: now.wall)
    }

    /// Until when to show an original without asking its server: while it is fresh, or while requests are on hold.
    ///
    /// Uses the wall clock, because freshness outlasts restarts. ``Freshness/longest`` bounds the effect of a wrong
    /// clock.
    private func goodUntil(_ record: AvatarRecord, of address: AvatarAddress, _ now: Now) -> MonotonicTime {
        let fresh = now.monotonic + life(of: record.fetchedAt, until: record.freshUntil, now.wall)
        let listed = blacklist.verdict(on: address, now: now.monotonic).map {
            now.monotonic + .milliseconds($0.until.milliseconds - now.wall.milliseconds)
        }
        return max(fresh, listed ?? now.monotonic, patience[address] ?? now.monotonic)
    }

    /// How long from now to show a picture without asking its server: while it is fresh, and not too old to keep.
    func life(of fetchedAt: Int64, until freshUntil: Int64, _ now: WallTime) -> Duration {
        let fresh = Duration.milliseconds(freshUntil.subtractingReportingOverflow(now.milliseconds).0)
        let age = Duration.milliseconds(now.milliseconds.subtractingReportingOverflow(fetchedAt).0)
        let kept = (options.maximumAge ?? Freshness.longest) - max(age, .zero)
        return max(.zero, min(fresh, kept, Freshness.longest))
    }

    /// Reads a stored picture.
    func picture(_ stored: StoredPicture, _ record: AvatarRecord, _ style: PictureStyle) throws(AvatarFailure)
        -> AvatarPicture
    {
        AvatarPicture(
            bytes: try read(stored), type: style.isOriginal ? record.type : "image/png", path: stored.path,
            entityTag: record.entityTag, lastModified: record.lastModified,
            fetchedAt: WallTime(milliseconds: record.fetchedAt),
            freshUntil: WallTime(milliseconds: record.freshUntil))
    }

    /// Delivers a picture from the store.
    func deliver(_ wish: AvatarWish, to waiters: Set<AvatarDesk.Waiter>) {
        do throws(AvatarFailure) {
            answer(waiters, .success(try shown(wish)))
        } catch {
            answer(waiters, .failure(error))
        }
    }

    private func shown(_ wish: AvatarWish) throws(AvatarFailure) -> AvatarPicture {
        let now = clock.now()
        guard let found = try find(wish), let stored = found.picture else {
            throw .storage("\(wish.address.url): the picture was removed meanwhile")
        }
        let picture = try picture(stored, found.record, wish.style)
        show(picture, wish, found.record, until: goodUntil(found.record, of: wish.address, now), now)
        return picture
    }

    func inStore<Value>(_ body: () throws(AvatarStoreError) -> Value) throws(AvatarFailure) -> Value {
        do {
            return try body()
        } catch {
            throw .storage(error.description)
        }
    }

    private func read(_ stored: StoredPicture) throws(AvatarFailure) -> [UInt8] {
        do {
            let file = stored.file
            return try [UInt8](unsafeUninitializedCapacity: Int(stored.size)) { buffer, count in
                count = try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
            }
        } catch {
            throw .storage("\(stored.path ?? "a picture") can't be read: \(error)")
        }
    }
}

extension AvatarPicture {
    /// Whether the picture's path, if any, still leads to a matching file: anyone may remove files of the mirror.
    fileprivate var isInPlace: Bool {
        guard let path else { return true }
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size == bytes.count
    }
}
