// Uploads that belong together: registered in one request, and asked about in one once all of them are complete.
extension UploadMachine {
    /// What an upload means for the next request of its group.
    private enum Part {
        /// It goes along.
        case goes
        /// The others wait for it.
        case holdsUp
        /// The others don't mind it.
        case none
    }

    mutating func gather(_ source: String, _ keys: [ContentKey]) {
        guard traits.batch > 1 else { return }
        let touched = groups.members(of: source) + keys
        let live = Set(
            keys.compactMap { groups.name(of: $0) }.filter { name in
                groups.members(of: name).contains { uploads[$0] != nil }
            })
        groups.set(source, to: keys, live: live)
        // Whoever waited for the group he was in has his turn again.
        for key in touched { enqueue(key) }
    }

    /// Something happened to an upload: where its group waited for that, the group's turn comes again.
    mutating func wakeGroup(of key: ContentKey) {
        guard let group = groups.name(of: key), groups.wake(group) else { return }
        for member in groups.members(of: group) { enqueue(member) }
    }

    /// The members of a group that go into its next request of a kind.
    ///
    /// - Returns: nil while the group has to wait for one of them, or none is left to go; otherwise never empty.
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

    /// Whether a complete upload is not asked about because another of its group is not complete yet.
    func waitsForGroup(_ upload: Upload) -> Bool {
        guard case .verifying = upload.phase, let group = groups.name(of: upload.key) else { return false }
        return groups.members(of: group).contains { uploads[$0].map(isIncomplete) ?? false }
    }

    private func part(of key: ContentKey, in kind: RequestKind, now: Now) -> Part {
        guard let upload = uploads[key], !upload.isHeld else { return .none }
        switch kind {
        case .register:
            if upload.record.remoteID != nil || upload.alone { return .none }
            return upload.phase == .unregistered ? .goes : .holdsUp
        default:
            if isIncomplete(upload) { return .holdsUp }
            if upload.alone { return .none }
            guard case .verifying(let notBefore) = upload.phase, notBefore <= now.monotonic else { return .holdsUp }
            return .goes
        }
    }

    /// Whether there is something to be sent of an upload, or to be learned, before it can be asked about.
    private func isIncomplete(_ upload: Upload) -> Bool {
        guard !upload.isHeld, !isStuck(upload) else { return false }
        return upload.record.remoteID == nil || !upload.isComplete || upload.mustResume
    }

    /// Whether an upload has failed for a while: other paths may wait for what is in its group, and need not wait for it.
    private func isStuck(_ upload: Upload) -> Bool {
        guard case .waiting = upload.phase else { return false }
        return upload.failures >= Self.patience
    }

    /// Failures in a row of one member after which the others are asked about without it.
    private static var patience: Int { 4 }
}
