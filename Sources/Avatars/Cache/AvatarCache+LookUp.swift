import Glibc
import LinuxSystem
import PictureJobs
import SystemPackage
import UploadCore

extension AvatarCache {
    /// An original and what is known of it.
    typealias Original = (picture: StoredPicture, record: AvatarRecord)

    /// What there is of a picture.
    enum Finding {
        case picture(AvatarPicture)
        /// It has to be drawn.
        case original
        /// Its server has to be asked.
        case nothing
    }

    /// Looks in memory, then in the store.
    ///
    /// - Throws: what is known of the address on the blacklist, or a failure of the store.
    func lookUp(_ wish: AvatarDesk.Wish) throws(AvatarFailure) -> Finding {
        let now = clock.now()
        if let shown = memory.picture(wish.address, wish.style), now.monotonic < shown.until {
            store.touch(wish.address, at: now.wall)
            return .picture(shown.picture)
        }
        guard let original = try inStore({ () throws(AvatarStoreError) in try store.original(of: wish.address) }) else {
            if let verdict = blacklist.verdict(on: wish.address, now: now.monotonic) { throw AvatarFailure(verdict) }
            return .nothing
        }
        let goodUntil = goodUntil(original.record, of: wish.address, now)
        if goodUntil <= now.monotonic { return .nothing }
        let finding = try look(for: wish, from: original)
        switch finding {
        case .picture(let picture):
            show(picture, wish, until: goodUntil, now)
        case .original:
            if let verdict = undrawable.verdict(on: wish.address, now: now.monotonic) { throw AvatarFailure(verdict) }
        case .nothing: break
        }
        return finding
    }

    private func show(_ picture: AvatarPicture, _ wish: AvatarDesk.Wish, until: MonotonicTime, _ now: Now) {
        let shown = Shown(picture: picture, until: until)
        memory.insert(shown, cost: picture.bytes.count, for: wish.address, wish.style)
        store.touch(wish.address, at: now.wall)
    }

    /// Until when an original is shown without asking its server: while it is fresh, and where asking was put off.
    ///
    /// The only comparison with the wall clock, since freshness lasts over restarts. What a clock that was set wrong can
    /// do is bounded by ``Freshness/longest``.
    private func goodUntil(_ record: AvatarRecord, of address: AvatarAddress, _ now: Now) -> MonotonicTime {
        let left = Duration.milliseconds(record.freshUntil.subtractingReportingOverflow(now.wall.milliseconds).0)
        let fresh = now.monotonic + min(max(left, .zero), Freshness.longest)
        let listed = blacklist.verdict(on: address, now: now.monotonic).map {
            now.monotonic + .milliseconds($0.until.milliseconds - now.wall.milliseconds)
        }
        return max(fresh, listed ?? now.monotonic, patience[address] ?? now.monotonic)
    }

    /// What can be had from an original that is kept: the picture, if it is drawn already.
    func look(for wish: AvatarDesk.Wish, from original: Original) throws(AvatarFailure) -> Finding {
        let isOriginal = wish.style.isOriginal
        var stored: StoredPicture? = original.picture
        if !isOriginal {
            stored = try inStore { () throws(AvatarStoreError) in try store.styled(wish.address, wish.style) }
        }
        guard let stored else { return .original }
        return .picture(
            AvatarPicture(
                bytes: try read(stored), type: isOriginal ? original.record.type : "image/png", path: stored.path,
                entityTag: original.record.entityTag, lastModified: original.record.lastModified,
                fetchedAt: WallTime(milliseconds: original.record.fetchedAt),
                freshUntil: WallTime(milliseconds: original.record.freshUntil)))
    }

    /// Hands out a picture that is in the store now.
    func deliver(_ wish: AvatarDesk.Wish, to waiters: Set<AvatarDesk.Waiter>) {
        do throws(AvatarFailure) {
            answer(waiters, .success(try shown(wish)))
        } catch {
            answer(waiters, .failure(error))
        }
    }

    private func shown(_ wish: AvatarDesk.Wish) throws(AvatarFailure) -> AvatarPicture {
        let now = clock.now()
        let original = try inStore { () throws(AvatarStoreError) in try store.original(of: wish.address) }
        guard let original, case .picture(let picture) = try look(for: wish, from: original) else {
            throw .storage("\(wish.address.url): the picture was removed meanwhile")
        }
        show(picture, wish, until: goodUntil(original.record, of: wish.address, now), now)
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
