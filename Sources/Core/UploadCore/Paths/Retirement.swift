/// Files on their way out of the outbox after the server confirmed their content (`intake.after_upload`).
///
/// A plain value: events in, steps out. The caller renames a file into the holding area, where no other program finds
/// it, and hashes it once more. If the content is still the confirmed one, the ledger stores the file's destination.
/// Only when this change is durable, the caller moves or deletes the file. So a kill leaves the file in the outbox or
/// in the holding area, or the ledger has its destination. The next start puts held files back, and the procedure
/// begins again.
package struct Retirement: Sendable {
    /// What happens to a file after the server confirmed its content.
    package enum Fate: Equatable, Sendable {
        case stay
        /// The file moves into this directory of the outbox.
        case move(to: RelativePath)
        case delete
    }

    /// The stage of one file. The record is the one before the retirement.
    enum Stage: Equatable, Sendable {
        /// The caller moves the file into the holding area.
        case taking(DropRecord)
        /// The file is held and hashed once more.
        case checking(DropRecord)
        /// The file is held, and needs a free name at its destination.
        case naming(DropRecord)
        /// The file is held, and the ledger stores its destination. `to` is the record at the new path; nil if the
        /// file will be deleted.
        case recording(DropRecord, to: DropRecord?)
        /// The destination is durable. The caller moves or deletes the file.
        case leaving(DropRecord, to: DropRecord?)
        /// The caller puts the file back. `errno` says why the file can't leave; nil if its content differs. `from` is
        /// the stored destination.
        case returning(DropRecord, from: RelativePath?, errno: Int32?)
        /// The file can't leave. Retried after each full scan.
        case stuck
    }

    /// What is known of a path at the moment of an event.
    struct Facts: Sendable {
        /// The path's record.
        var record: DropRecord?
        /// Whether the path is not in a final state. If so, another file has taken the name of a held file.
        var isUnderWay = false
        /// Whether the path is being hashed.
        var isHashing = false
        /// The server's confirmation of the content that the retiring file had.
        var confirmation: Confirmation?
    }

    private let fate: Fate
    private(set) var stages: [RelativePath: Stage] = [:]
    /// Names removed by the agent when it moved their files to the holding area. The watch has yet to report them.
    private var withdrawn: Set<RelativePath> = []
    /// Destinations of files that have not arrived there yet.
    private var destinations: Set<RelativePath> = []

    init(fate: Fate) {
        self.fate = fate
    }

    // MARK: Questions

    /// Whether a file is on its way out, or waits for another try.
    func covers(_ path: RelativePath) -> Bool { stages[path] != nil }

    /// Whether a file is in the holding area, or about to get there.
    func isHeld(_ path: RelativePath) -> Bool { stages[path].map { $0 != .stuck } ?? false }

    /// Whether a file could not leave and waits for another try.
    func isStuck(_ path: RelativePath) -> Bool { stages[path] == .stuck }

    /// The paths of files in the holding area that are being handled.
    package var held: Set<RelativePath> { Set(stages.filter { $0.value != .stuck }.keys) }

    /// The key of the content that a held file had when it was confirmed.
    func key(of path: RelativePath) -> ContentKey? { stages[path]?.record?.key }

    // MARK: Changes

    /// Handles the report that a name is gone.
    ///
    /// - Returns: whether the agent itself removed the name.
    mutating func explainsAbsence(of path: RelativePath) -> Bool {
        withdrawn.remove(path) != nil || covers(path)
    }

    /// After a full scan, no event about an earlier change of a name is pending.
    mutating func forgetWithdrawnNames() { withdrawn = [] }

    /// Gives up a file that waits for another try, because another file has its name.
    mutating func forgetStuck(_ path: RelativePath) {
        if isStuck(path) { stages[path] = nil }
    }

    /// Returns the files that could not leave, for another try, and gives them up.
    package mutating func takeStuck() -> [RelativePath] {
        let paths = stages.filter { $0.value == .stuck }.keys.sorted()
        for path in paths { stages[path] = nil }
        return paths
    }

    /// Gives up all held files, because the agent ends. The caller puts the files back.
    package mutating func letGo() {
        stages = stages.filter { $0.value == .stuck }
        destinations = []
    }

    /// Handles an event about a path.
    ///
    /// - Returns: the actions to perform, in order.
    mutating func handle(_ event: RetirementEvent, of path: RelativePath, _ facts: Facts) -> [PathAction] {
        switch (stages[path], event) {
        case (nil, .confirmed): return begin(path, facts)
        case (.taking(let record), .taken):
            guard let identity = record.identity else { return [] }
            stages[path] = .checking(record)
            withdrawn.insert(path)
            return [.retirement(path, .check(identity))]
        case (.taking, .replaced):
            stages[path] = nil
            return [.settle(path)]
        case (.taking, .outboxAway):
            // The scan after its return finds the file again.
            stages[path] = nil
            return []
        case (.taking, .failed(let errno)): return getStuck(path, errno)
        case (.checking(let record), .checked(let finding)): return checked(record, finding, facts)
        case (.naming(let record), .named(let target)): return move(record, to: target, facts)
        case (.recording(let record, let target), .durable):
            stages[path] = .leaving(record, to: target)
            return [.retirement(path, target.map { .release(to: $0.path) } ?? .delete)]
        case (.leaving(_, let target), .left): return left(path, target, facts)
        case (.naming(let record), .failed(let errno)): return putBack(record, errno: errno)
        case (.leaving(let record, let target), .failed(let errno)):
            return putBack(record, from: target?.path, errno: errno)
        case (.returning(let record, let target, let errno), .back(let name, let identity)):
            return returned(record, target, errno, as: name, identity, facts)
        case (.returning(let record, let target, let reason), .failed(let errno)):
            // The file stays in the holding area, and the next full scan puts it back.
            return returned(record, target, reason ?? errno, as: nil, nil, facts)
        default: return []
        }
    }

    private mutating func begin(_ path: RelativePath, _ facts: Facts) -> [PathAction] {
        guard fate != .stay, !facts.isHashing, let record = facts.record, record.state == .done,
            record.disposal == .pending, let identity = record.identity, !identity.isUntrusted
        else { return [] }
        stages[path] = .taking(record)
        return [.retirement(path, .take(identity))]
    }

    private mutating func checked(_ record: DropRecord, _ finding: HashFinding, _ facts: Facts) -> [PathAction] {
        guard case .content(_, _, let content, _) = finding, let known = facts.confirmation,
            Self.holds(content, record, known), !known.isByMD5Alone
        else { return putBack(record) }
        switch fate {
        case .stay: return putBack(record)
        case .move(let directory):
            stages[record.path] = .naming(record)
            return [
                .retirement(record.path, .findName(like: directory.appending(record.path.bytes), except: destinations))
            ]
        case .delete:
            stages[record.path] = .recording(record, to: nil)
            return [.retirement(record.path, .commit(trace(of: record, .deleted, facts)))]
        }
    }

    /// Whether a file still holds what the server confirmed, or what its product was made from.
    private static func holds(_ content: DropContent, _ record: DropRecord, _ known: Confirmation) -> Bool {
        guard let product = record.product else { return content.key == record.key && content.seal == known.seal }
        return content.key == product.original && content.seal == product.originalSeal
    }

    private mutating func move(_ record: DropRecord, to target: RelativePath, _ facts: Facts) -> [PathAction] {
        var moved = record
        moved.path = target
        moved.disposal = .moved(from: record.path)
        stages[record.path] = .recording(record, to: moved)
        destinations.insert(target)
        let writes = [.drop(moved)] + trace(of: record, .movedAway(to: target), facts)
        return [.retirement(record.path, .commit(writes))]
    }

    /// Returns the changes that make the record of a path tell where its file went. Returns none if the record belongs
    /// to another file by now.
    private func trace(of record: DropRecord, _ disposal: Disposal, _ facts: Facts) -> [LedgerWrite] {
        guard !facts.isUnderWay, facts.record?.identity == record.identity else { return [] }
        var trace = record
        trace.disposal = disposal
        return [.drop(trace)]
    }

    private mutating func left(_ path: RelativePath, _ target: DropRecord?, _ facts: Facts) -> [PathAction] {
        var actions: [PathAction] = []
        if let target {
            destinations.remove(target.path)
            if !facts.isUnderWay { actions.append(.removeSidecar(path)) }
            actions += [.announceGone(path), .report(target.path)]
        }
        return actions + end(path, facts)
    }

    private mutating func putBack(
        _ record: DropRecord, from target: RelativePath? = nil, errno: Int32? = nil
    ) -> [PathAction] {
        stages[record.path] = .returning(record, from: target, errno: errno)
        return [.retirement(record.path, .putBack)]
    }

    /// Handles the return of a file to the outbox.
    ///
    /// - Parameter name: the file's path; nil if the file could not return, or was no longer held.
    private mutating func returned(
        _ record: DropRecord, _ target: RelativePath?, _ errno: Int32?, as name: RelativePath?,
        _ identity: FileIdentity?, _ facts: Facts
    ) -> [PathAction] {
        if let target { destinations.remove(target) }
        guard let errno else { return end(record.path, facts) + (name.map { [.settle($0)] } ?? []) }
        var actions: [PathAction] = []
        var writes: [LedgerWrite] = target.map { [.forgetDrop($0)] } ?? []
        if name == record.path, let identity {
            var known = record
            known.identity = identity
            writes.append(.drop(known))
        } else if let name {
            actions.append(.settle(name))
        }
        if !writes.isEmpty { actions.insert(.retirement(record.path, .store(writes)), at: 0) }
        return actions + getStuck(record.path, errno)
    }

    private mutating func getStuck(_ path: RelativePath, _ errno: Int32) -> [PathAction] {
        stages[path] = .stuck
        return [.retirement(path, .reportStuck(errno: errno))]
    }

    private mutating func end(_ path: RelativePath, _ facts: Facts) -> [PathAction] {
        stages[path] = nil
        // Another file may have arrived at this path meanwhile.
        return [.retirement(path, .reportWorking)] + (facts.isUnderWay ? [.settle(path)] : [])
    }
}

extension Retirement.Stage {
    fileprivate var record: DropRecord? {
        switch self {
        case .taking(let record), .checking(let record), .naming(let record), .recording(let record, _),
            .leaving(let record, _), .returning(let record, _, _):
            record
        case .stuck: nil
        }
    }
}

/// Event about a file on its way out of the outbox. All but `confirmed` answer a `RetirementStep`.
package enum RetirementEvent: Sendable {
    /// The server confirmed the content, and neither a thumbnail nor a post needs the file.
    case confirmed
    /// The file is in the holding area.
    case taken
    /// The name belongs to another file, or a program writes to the file.
    case replaced
    /// The outbox is missing.
    case outboxAway
    /// The held file was hashed.
    case checked(HashFinding)
    /// This name is free at the destination.
    case named(RelativePath)
    /// The destination is durable.
    case durable
    /// The file was moved or deleted.
    case left
    /// The file is back in the outbox. The path is nil if no such file was held.
    case back(RelativePath?, FileIdentity?)
    /// A system call failed.
    case failed(errno: Int32)
}

/// Instruction about a file on its way out of the outbox.
package enum RetirementStep: Equatable, Sendable {
    /// Move the file into the holding area. Answer with `taken`, `replaced`, `outboxAway` or `failed`.
    case take(FileIdentity)
    /// Hash the held file. Answer with `checked`.
    case check(FileIdentity)
    /// Find a free name similar to `like`, other than the names in `except`. Answer with `named` or `failed`.
    case findName(like: RelativePath, except: Set<RelativePath>)
    /// Store the file's destination. Answer with `durable`.
    case commit([LedgerWrite])
    /// Change the ledger. Nothing waits for this change.
    case store([LedgerWrite])
    /// Move the held file to its destination. Answer with `left` or `failed`.
    case release(to: RelativePath)
    /// Delete the held file. Answer with `left` or `failed`.
    case delete
    /// Return the held file to its path, or to a similar name. Answer with `back` or `failed`.
    case putBack
    /// Report that the file can't leave the outbox.
    case reportStuck(errno: Int32)
    /// Report that files can leave the outbox.
    case reportWorking
}

// Passes events about files on their way out of the outbox to `Retirement`.
extension PathBook {
    mutating func retire(_ path: RelativePath, _ event: RetirementEvent) {
        var known = Retirement.Facts(
            record: record(of: path), isUnderWay: drops[path] != nil, isHashing: hashing[path] != nil)
        if case .checked = event { known.confirmation = retirement.key(of: path).flatMap(facts.confirmation) }
        for action in retirement.handle(event, of: path, known) {
            switch action {
            case .retirement(_, .commit(let writes)), .retirement(_, .store(let writes)):
                for case .drop(let record) in writes { _ = change(record) }
            default: break
            }
            add(action)
        }
    }

    /// Whether a file is on its way out of the outbox (`intake.after_upload`), or waits for another try.
    package func isRetiring(_ path: RelativePath) -> Bool { retirement.covers(path) }
}
