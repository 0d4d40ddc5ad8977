import Testing
import UploadCore

/// `OUTBOX_WALK_EVENTS` (default 120,000) sets the length of the walk, `OUTBOX_WALK_SEED` its seed.
@Suite("Random walks of a source, over faults, kills and user actions")
struct SourceWalkTests {
    @Test("keep every promise and end as done")
    func walk() { takeWalks(events: 120_000, stretch: 400) { SourceWalk(seed: $0) } }
}

// The conditions that must hold at every step of a walk, and at the end.
extension SourceWalk {
    mutating func fail(_ what: String) {
        if problem == nil { problem = what }
    }

    mutating func check(_ actions: [SourceAction], before: SourceRecord) {
        if (actions.first == .store) != (machine.record != before) {
            fail("a change that is not stored, or none that is")
        }
        if actions.dropFirst().contains(.store) { fail("stored after something else") }
        for case .commit(let commit, _) in actions { check(commit) }
        let isHeld: Bool
        switch machine.record.stage {
        case .draft, .rejected, .cancelled: isHeld = true
        case .collecting, .uploading, .committing, .done, .failed: isHeld = machine.record.isPaused
        }
        if isHeld, !Self.names.allSatisfy({ machine.holds($0) }) { fail("a file of a held source is not held") }
        if machine.record.files.count > SourceRecord.mostFiles { fail("too many files taken") }
    }

    private mutating func check(_ commit: SourceCommit) {
        if machine.record.isPaused { fail("committed while paused") }
        if confirmed.contains(commit.revision) { fail("committed after it was confirmed") }
        if commit.fileIDs.isEmpty || Set(commit.fileIDs).count != commit.fileIDs.count {
            fail("ids: \(commit.fileIDs)")
        }
        let contents = Set(commit.fileIDs.compactMap { server.given[$0] })
        if contents != Set(machine.record.files.values) { fail("committed with other contents than the revision's") }
        if let cover = commit.cover, !commit.fileIDs.contains(cover) { fail("the cover is none of the files") }
    }

    /// Ends all faults, submits the source, and checks that the source ends.
    mutating func end() {
        server.isFlaky = false
        description = SourceDescription(title: "end")
        for name in Self.names { disk[name] = nil }
        tell(Self.names.map { .gone($0) } + [.setPaused(false), .described(SourceDescription(title: "end"))])
        for _ in 0..<1000 where !batches.isEmpty { persistOne() }
        for name in Self.names.prefix(3) {
            disk[name] = SourceFile(state: .settling)
            tell([.file(name, .settling)])
        }
        for _ in 0..<30 where problem == nil && !isDone {
            tell([.submit])
            for _ in 0..<100 where !isDone {
                for _ in 0..<20 { persistOne() }
                goOnWithFile()
                serve()
                pass(.milliseconds(100))
            }
        }
        if !isDone {
            fail("never done: \(machine.record.stage), waits for \(machine.nextDeadline == nil ? "events" : "time")")
        }
        guard let post = machine.record.post else { return }
        if post.files != disk.compactMapValues(\.key) || post.description.title != "end" {
            fail("another post than wanted")
        }
        if server.revisions[post.revision]?.title != "end" { fail("the server has another post") }
    }

    private var isDone: Bool { machine.record.stage == .done && machine.pendingChanges.isEmpty }
}
