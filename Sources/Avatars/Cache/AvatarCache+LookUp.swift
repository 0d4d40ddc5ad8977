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
        if let picture = memory.get(wish, now: now.monotonic) {
            store.touch(wish.address, at: now.wall)
            return .picture(picture)
        }
        guard let original = try inStore({ () throws(AvatarStoreError) in try store.original(of: wish.address) }) else {
            if let failure = blacklisted(wish.address) { throw failure }
            return .nothing
        }
        let goodUntil = goodUntil(original.record, of: wish.address, now)
        if goodUntil <= now.monotonic { return .nothing }
        let finding = try look(for: wish, from: original)
        switch finding {
        case .picture(let picture):
            memory.insert(picture, for: wish, cost: picture.bytes.count, until: goodUntil)
            store.touch(wish.address, at: now.wall)
        case .original:
            // Drawn before, and found to be damaged.
            if let failure = blacklisted(wish.address), failure.code == PictureRefusal.Reason.damaged.rawValue {
                throw failure
            }
        case .nothing: break
        }
        return finding
    }

    /// Until when an original is shown without asking its server.
    private func goodUntil(_ record: AvatarRecord, of address: AvatarAddress, _ now: Now) -> MonotonicTime {
        let left = Duration.milliseconds(record.freshUntil.subtractingReportingOverflow(now.wall.milliseconds).0)
        let fresh = now.monotonic + left
        // A server that failed us is not asked for a picture that is at hand; and after so long without asking it, a
        // clock that was set wrong must not keep a picture for ever.
        let asked = blacklist.until(address, now: now.monotonic) ?? patience[address] ?? now.monotonic
        return max(left > .zero ? fresh : now.monotonic, asked)
    }

    /// What can be had from an original that is kept: the picture, if it is drawn already.
    func look(for wish: AvatarDesk.Wish, from original: Original) throws(AvatarFailure) -> Finding {
        let isOriginal = wish.style.isOriginal
        let stored =
            isOriginal
            ? original.picture
            : try inStore { () throws(AvatarStoreError) in try store.styled(wish.address, wish.style) }
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
        do {
            let now = clock.now()
            guard
                let original = try inStore({ () throws(AvatarStoreError) in try store.original(of: wish.address) }),
                case .picture(let picture) = try look(for: wish, from: original)
            else { throw AvatarFailure.storage("\(wish.address.url): the picture was removed meanwhile") }
            let until = goodUntil(original.record, of: wish.address, now)
            memory.insert(picture, for: wish, cost: picture.bytes.count, until: until)
            store.touch(wish.address, at: now.wall)
            answer(waiters, .success(picture))
        } catch {
            answer(waiters, .failure(error))
        }
    }

    func blacklisted(_ address: AvatarAddress) -> AvatarFailure? { nil }

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
