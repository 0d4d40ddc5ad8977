import CLinux
import LinuxSystem
public import PictureJobs
import Synchronization
public import UploadCore

/// Keeps pictures in unnamed files in memory (man 2 memfd_create), for programs without a directory and for tests. All
/// pictures vanish with the store.
public final class MemoryAvatarStore: AvatarStore {
    private struct Entry {
        var record: AvatarRecord
        var picture: StoredPicture
        var styled: [PictureStyle: StoredPicture] = [:]
        var usedAt: WallTime
    }

    private let kept = Mutex<[AvatarAddress: Entry]>([:])

    /// Creates an empty store.
    public init() {}

    /// The original of an address and its record.
    public func original(
        of address: AvatarAddress
    ) throws(AvatarStoreError) -> (picture: StoredPicture, record: AvatarRecord)? {
        kept.withLock { $0[address].map { ($0.picture, $0.record) } }
    }

    /// The record of an address.
    public func record(of address: AvatarAddress) throws(AvatarStoreError) -> AvatarRecord? {
        kept.withLock { $0[address]?.record }
    }

    /// The styled picture drawn from the current original.
    public func styled(_ address: AvatarAddress, _ style: PictureStyle) throws(AvatarStoreError) -> StoredPicture? {
        kept.withLock { $0[address]?.styled[style] }
    }

    /// An empty file in memory.
    public func makeDraft() throws(AvatarStoreError) -> any AvatarDraft {
        do {
            return MemoryDraft(Descriptor(owning: try retryingOnInterrupt { outbox_memory_file("outbox-avatar") }))
        } catch {
            throw AvatarStoreError(
                "cannot create a file in memory for a picture: \(error); free memory or close files")
        }
    }

    /// Makes a draft the original of an address.
    public func keep(
        _ draft: any AvatarDraft, asOriginalOf address: AvatarAddress, _ record: AvatarRecord
    ) throws(AvatarStoreError) -> StoredPicture {
        let picture = try Self.picture(of: draft)
        kept.withLock {
            $0[address] = Entry(record: record, picture: picture, usedAt: WallTime(milliseconds: record.fetchedAt))
        }
        return picture
    }

    /// Makes a draft the styled picture of an address.
    public func keep(
        _ draft: any AvatarDraft, asStyled address: AvatarAddress, _ style: PictureStyle,
        drawnFrom original: StoredPicture
    ) throws(AvatarStoreError) -> StoredPicture {
        let picture = try Self.picture(of: draft)
        kept.withLock {
            guard $0[address]?.picture.file === original.file else { return }
            // If the name now means another chain of steps, the old picture is never requested again.
            for former in $0[address]?.styled.keys.filter({ $0.name == style.name }) ?? [] {
                $0[address]?.styled[former] = nil
            }
            $0[address]?.styled[style] = picture
        }
        return picture
    }

    /// Replaces the record of the original.
    public func update(_ record: AvatarRecord, of address: AvatarAddress) throws(AvatarStoreError) {
        kept.withLock { $0[address]?.record = record }
    }

    /// Does nothing: memory survives no power cut.
    public func secure(_ address: AvatarAddress) throws(AvatarStoreError) {}

    /// Records that a picture was used now.
    public func touch(_ address: AvatarAddress, at time: WallTime) {
        kept.withLock { $0[address]?.usedAt = time }
    }

    /// Removes the original and its styled pictures.
    public func remove(_ address: AvatarAddress) throws(AvatarStoreError) {
        kept.withLock { $0[address] = nil }
    }

    /// All entries.
    public func entries() throws(AvatarStoreError) -> [AvatarEntry] {
        kept.withLock { entries in
            entries.map { address, entry in
                AvatarEntry(
                    address: address, record: entry.record, size: entry.picture.size,
                    styles: entry.styled.keys.map(\.name).sorted(),
                    styledSize: entry.styled.values.reduce(0) { $0 + $1.size }, usedAt: entry.usedAt)
            }
        }
    }

    /// Removes pictures that are too old, then the least recently used ones until the rest fits.
    public func trim(
        maximumSize: UInt64, maximumAge: Duration?, now: WallTime, sparing isSpared: (AvatarAddress) -> Bool
    ) throws(AvatarStoreError) -> AvatarTrim {
        let entries = try entries()
        let pinned = Set(entries.map(\.address).filter(isSpared))
        let outcome = Trimming(maximumSize: maximumSize, maximumAge: maximumAge, now: now, pinned: pinned)
            .outcome(of: entries)
        for address in outcome.removed { try remove(address) }
        return outcome
    }

    private static func picture(of draft: any AvatarDraft) throws(AvatarStoreError) -> StoredPicture {
        do {
            return StoredPicture(
                file: draft.file, path: nil, size: try FileStatus(of: draft.file.rawValue).size)
        } catch {
            throw AvatarStoreError("a picture in memory can't be read: \(error)")
        }
    }
}

private final class MemoryDraft: AvatarDraft {
    let file: SharedDescriptor

    init(_ descriptor: consuming Descriptor) { file = SharedDescriptor(descriptor) }
}
