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

    /// What goes: those too old, then those used least recently until the others fit.
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
