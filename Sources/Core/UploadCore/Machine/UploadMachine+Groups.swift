// Handles uploads of one source: registers them together, and asks about them together once all are complete.
extension UploadMachine {
    /// The effect of a member on the next request of its group.
    private enum Part {
        /// The member is part of the request.
        case goes
        /// The request waits for the member.
        case holdsUp
        /// The request ignores the member.
        case none
    }

    mutating func gather(_ source: String, _ keys: [ContentKey]) {
        guard traits.batch > 1 else { return }
        let former = groups.members(of: source)
        let touched = former + keys
        let live = Set(
            keys.compactMap { groups.name(of: $0) }.filter { name in
                groups.members(of: name).contains { uploads[$0] != nil }
            })
        groups.set(source, to: keys, live: live)
        // Former members may be left to the ledger now.
        if !Set(keys).isSuperset(of: former) { shrinkAbove = window + slack }
        // Members that waited for their former group get another turn.
        for key in touched { enqueue(key) }
    }

    /// Gives a group another turn because one of its members changed.
    mutating func wakeGroup(of key: ContentKey) {
        guard let group = groups.name(of: key), groups.wake(group) else { return }
        for member in groups.members(of: group) { enqueue(member) }
    }

    /// Returns the members of a group for its next request of a kind.
    ///
    /// - Returns: nil if the group must wait for a member or has none left to send; otherwise never empty.
    mutating func together(_ group: String, for kind: RequestKind, now: Now) -> [ContentKey]? {
        if groups.isTooEarly(group, for: kind) { return nil }
        var batch: [ContentKey] = []
        for key in groups.members(of: group) {
            switch part(of: key, in: kind, now: now) {
            case .none: break
            case .goes: batch.append(key)
            case .holdsUp:
                groups.cameTooEarly(group, for: kind)
                return nil
            }
        }
        return batch.isEmpty ? nil : Array(batch.prefix(traits.batch))
    }

    /// Whether a complete upload waits for an incomplete upload of its group.
    func waitsForGroup(_ upload: Upload) -> Bool {
        guard case .verifying = upload.phase, let group = groups.name(of: upload.key) else { return false }
        return groups.members(of: group).contains { uploads[$0].map(isIncomplete) ?? false }
    }

    private func part(of key: ContentKey, in kind: RequestKind, now: Now) -> Part {
        guard let upload = uploads[key], !upload.isHeld else { return .none }
        switch kind {
        case .register:
            if upload.record.handle != nil || upload.alone { return .none }
            return upload.phase == .unregistered ? .goes : .holdsUp
        default:
            if isIncomplete(upload) { return .holdsUp }
            if upload.alone { return .none }
            guard case .verifying(let notBefore) = upload.phase, notBefore <= now.monotonic else { return .holdsUp }
            return .goes
        }
    }

    /// Whether an upload must send fragments or ask the server something before its group can be asked about.
    private func isIncomplete(_ upload: Upload) -> Bool {
        guard !upload.isHeld, !isStuck(upload) else { return false }
        return upload.record.handle == nil || !upload.isComplete || upload.mustResume
    }

    /// Whether an upload failed several times in a row, or an answer refused its bytes. Its group then proceeds without it,
    /// since other paths may wait for the group.
    private func isStuck(_ upload: Upload) -> Bool {
        guard case .waiting = upload.phase else { return false }
        return upload.failures >= Self.patience || upload.setback?.isRefusal == true
    }

    /// The number of consecutive failures of a member after which its group proceeds without it.
    static var patience: Int { 4 }
}
