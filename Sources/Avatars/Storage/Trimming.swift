import UploadCore

/// What goes when a store has grown too large or too old; a rule without a disk.
struct Trimming: Sendable {
    /// Bytes that may stay, originals and styled pictures together.
    let maximumSize: UInt64
    /// Originals fetched, or confirmed, longer ago than this go; nil: no limit.
    let maximumAge: Duration?
    let now: WallTime
    /// What stays whatever happens. It counts with the rest.
    let pinned: Set<AvatarAddress>

    /// The addresses that go: those too old, then those used least recently until the others fit.
    func addresses(of entries: [AvatarEntry]) -> [AvatarAddress] {
        var going: [AvatarAddress] = []
        var staying: [AvatarEntry] = []
        for entry in entries where !pinned.contains(entry.address) {
            if isTooOld(entry) { going.append(entry.address) } else { staying.append(entry) }
        }
        let pinnedEntries = entries.filter { pinned.contains($0.address) }
        var size = (staying + pinnedEntries).reduce(UInt64(0)) { $0 + $1.size + $1.styledSize }
        staying.sort { ($0.usedAt.milliseconds, $0.address.url) < ($1.usedAt.milliseconds, $1.address.url) }
        for entry in staying where size > maximumSize {
            size -= entry.size + entry.styledSize
            going.append(entry.address)
        }
        return going
    }

    private func isTooOld(_ entry: AvatarEntry) -> Bool {
        guard let maximumAge else { return false }
        return entry.record.fetchedAt < now.advanced(by: .zero - maximumAge).milliseconds
    }
}
