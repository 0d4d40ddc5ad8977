import UploadCore

/// Decides which entries to remove from a store that is too large or too old. Does no I/O.
struct Trimming: Sendable {
    /// Maximum bytes of originals and styled pictures together.
    let maximumSize: UInt64
    /// Originals fetched or revalidated longer ago are removed; nil: no limit.
    let maximumAge: Duration?
    let now: WallTime
    /// Addresses that are never removed. Their sizes count like all others.
    let pinned: Set<AvatarAddress>

    /// Returns the entries to remove: those too old, then the least recently used ones until the rest fits.
    func outcome(of entries: [AvatarEntry]) -> AvatarTrim {
        var tooOld: [AvatarAddress] = []
        var tooMuch: [AvatarAddress] = []
        var staying: [AvatarEntry] = []
        for entry in entries where !pinned.contains(entry.address) {
            if isTooOld(entry) { tooOld.append(entry.address) } else { staying.append(entry) }
        }
        let pinnedEntries = entries.filter { pinned.contains($0.address) }
        var kept = AvatarTotals(of: staying + pinnedEntries)
        staying.sort { ($0.usedAt.milliseconds, $0.address.url) < ($1.usedAt.milliseconds, $1.address.url) }
        for entry in staying where kept.bytes > maximumSize {
            kept.bytes -= entry.size + entry.styledSize
            kept.count -= 1
            tooMuch.append(entry.address)
        }
        return AvatarTrim(tooOld: tooOld, tooMuch: tooMuch, kept: kept)
    }

    private func isTooOld(_ entry: AvatarEntry) -> Bool {
        guard let maximumAge else { return false }
        return entry.record.fetchedAt < now.advanced(by: .zero - maximumAge).milliseconds
    }
}
