import Intake
import Ledger
import LinuxSystem
import UploadCore

// Answers the questions of other parts of the agent.

extension AgentCore: ContentFacts {
    func records(of key: ContentKey) throws(LedgerError) -> [DropRecord] {
        let paths = try stored.records(of: key).map(\.path)
        return Set(machine.waiters(of: key)).union(paths).compactMap { record(of: $0) }.filter { $0.key == key }
    }

    func hasPath(of key: ContentKey) throws(LedgerError) -> Bool {
        if !machine.waiters(of: key).isEmpty { return true }
        return try stored.anyRecord(of: key) != nil
    }

    func open(_ record: DropRecord) -> SharedDescriptor? {
        sources.files.open(record.path, ifStill: record.identity)
    }
}

extension AgentCore: StrayFacts {
    var isWholeOutbox: Bool {
        outbox.isWhole(sources.files.identity, awaitsFiles: book.outboxIsLost || !book.elsewhere.isEmpty)
    }

    var lostMounts: Set<RelativePath> { book.lostMounts }

    func isBusy(_ path: RelativePath) -> Bool {
        book.drops[path] != nil || book.isHashing(path) || book.isRetiring(path) || book.isAway(path)
    }

    func hasRecord(_ path: RelativePath) -> Bool { !canAnswer(about: path, nil) || storedRecord(of: path) != nil }

    func isPost(_ directory: RelativePath) -> Bool { posts[directory] != nil }

    func isInPost(_ directory: RelativePath) -> Bool {
        directory != .root && posts.directory(above: directory.parent) != nil
    }

    func isGone(_ path: RelativePath) -> Bool { sources.files.isGone(path) }
}

extension AgentCore: WatchFacts {
    var hasPosts: Bool { !posts.isEmpty }
    var descriptions: [RelativePath] { posts.descriptions }
    var mayFollow: Bool { book.mayFollow }
    var hasScanned: Bool { book.hasScanned }
    var outboxIsLost: Bool { book.outboxIsLost }
    var outboxPath: String { sources.files.root }
    var isDiskFull: Bool { sources.files.isDiskFull }

    func isDescription(_ path: RelativePath) -> Bool { posts.directory(describedBy: path) != nil }

    func page(within directory: RelativePath, from position: DropPosition) -> (
        paths: [RelativePath], next: DropPosition?
    ) {
        let page = stored.asked { () throws(LedgerError) in try stored.page(within: directory, from: position) }
        let known = page?.drops.map(\.path) ?? []
        guard position == .first else { return (known, page?.next) }
        return (book.drops.paths(within: directory) + known.filter { book.drops[$0] == nil }, page?.next)
    }

    func objection(toSize size: UInt64) -> FileError? { sources.rules.objection(toSize: size) }
}

extension AgentCore {
    /// What requests may ask.
    var uploadFacts: UploadFacts { UploadFacts(machine: machine, active: book.drops) }
}
