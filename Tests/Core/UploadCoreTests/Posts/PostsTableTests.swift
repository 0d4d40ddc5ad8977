import Testing

@testable import UploadCore

/// The outcome for a post, by its stage and the event.
@Suite("Every stage of a post with every event")
struct PostsTableTests {
    /// The stage of the post.
    enum Standing: String, CaseIterable {
        case none, draft, collecting, paused, uploading, committing, done, changed, failed, rejected, cancelled
        case removed, parked
    }

    /// The events.
    enum Happening: String, CaseIterable {
        case told, edited, broken, added, rewritten, lost, renamed, moved, dissolved, vanished, confirmed, refused
        case submit, pause, resume, cancel, retry, first, restart
    }

    // The stage afterwards, once all that can happen by itself happened, but for the server's answers; -: no post.
    // c: a commit is sent, w: it is withdrawn, d: files are given up, h: files are held, s: files are sent, x: the post
    // is forgotten, !: the user learns why nothing was done.
    private static let table = """
                       told           edited         broken         added          rewritten      lost           renamed        moved          dissolved      vanished       confirmed      refused        submit         pause          resume         cancel         retry          first          restart
        none           -              uploading      rejected h     - s            - s            -              -              -              -              -              -              -              -              -              -              -              -              -              -
        draft          draft          uploading s    rejected       draft          draft          draft          draft          draft          - w x s        removed d      draft          draft          uploading s    draft p        draft !        cancelled d    draft !        draft !        draft
        collecting     uploading s    uploading s    rejected       uploading s    uploading s    uploading s    uploading s    uploading s    - w x s        removed d      uploading s    uploading s    uploading s !  collecting p   uploading s !  cancelled d    uploading s    uploading s    uploading s
        paused         collecting p   collecting p   rejected p     collecting p   collecting p   collecting p   collecting p   collecting p   - w x s        removed p d    collecting p   collecting p   collecting p ! collecting p ! uploading s    cancelled p d  collecting p   collecting p   collecting p
        uploading      uploading      uploading      uploading      uploading      uploading s    uploading      uploading      uploading      - w x          removed d      uploading      uploading      uploading !    uploading p h  uploading !    cancelled d    uploading      uploading      uploading
        committing     committing     committing     committing     committing     committing     committing     committing     committing     - w x          removed d w    done           failed         committing !   committing p w committing !   cancelled d w  committing     committing     committing c
        done           done           done           done           done           done           done           done           done           - w x          - w x          done           done           done !         done !         done !         done !         done !         done !         done
        changed        done           done           done           done           done           done           done           done           - w x s        - w x          done           done           uploading s    done !         done !         done !         done !         done !         done
        failed         failed         failed         failed         failed         failed         failed         failed         failed         - w x          - w x          failed         failed         uploading s    failed !       failed !       failed !       uploading s    failed !       failed
        rejected       rejected       uploading s    rejected       rejected       rejected       rejected       rejected       rejected       - w x s        - w x          rejected       rejected       rejected !     rejected !     rejected !     rejected !     rejected !     rejected !     rejected
        cancelled      cancelled      cancelled      cancelled      cancelled      cancelled      cancelled      cancelled      cancelled      - w x          - w x          cancelled      cancelled      uploading s    cancelled !    cancelled !    cancelled !    uploading s    cancelled !    cancelled
        removed        removed        collecting w x rejected w x   - w x s        - w x s        removed        removed        removed        removed        removed        removed        removed        removed !      removed !      removed !      removed !      removed !      removed !      removed
        parked         uploading      uploading      uploading      uploading s    uploading s    uploading      uploading      uploading      - w x          removed d      uploading      uploading      uploading !    uploading p    uploading !    cancelled d    uploading !    uploading !    uploading
        """

    @Test("has the outcome in the table")
    func table() {
        var lines = [([""] + Happening.allCases.map(\.rawValue)).map(Self.cell).joined()]
        for standing in Standing.allCases {
            let cells = Happening.allCases.map { Self.outcome(of: $0, in: standing) }
            lines.append(([standing.rawValue] + cells).map(Self.cell).joined())
        }
        let text = lines.map { line in String(line.reversed().drop { $0 == " " }.reversed()) }.joined(separator: "\n")
        #expect(text == Self.table)
    }

    @Test(
        "a removed post neither holds nor posts the files of an ordinary directory that takes its name",
        arguments: [Standing.draft, .collecting, .paused])
    func replaced(_ standing: Standing) {
        var stage = Self.stage(standing)
        stage.remove(directory: Self.directory)
        stage.settle()
        stage.quieten()
        #expect(stage.posts[Self.directory]?.record.wasRemoved == true)
        stage.write("d/c", 3)
        stage.settle()
        #expect(stage.sendable.contains(PathStage.key(3)))
        #expect(stage.posts.isEmpty)
        #expect(stage.problem == nil)
    }

    private static func cell(_ text: String) -> String {
        text + String(repeating: " ", count: max(1, 15 - text.count))
    }

    // MARK: Standing there

    private static let directory: RelativePath = "d"
    private static let description: RelativePath = "d/source.toml"

    private static func stage(_ standing: Standing) -> PathStage {
        var stage = PathStage()
        stage.scan()
        stage.write("d/a", 1)
        stage.write("d/b", 2)
        if standing != .none {
            stage.write(description, standing == .draft ? 2 : standing == .rejected ? 4 : 1)
        }
        stage.settle()
        switch standing {
        case .none, .draft, .rejected: break
        case .collecting: return stage
        case .paused: stage.wish(.pause, for: directory)
        default: stage.quieten()
        }
        switch standing {
        case .committing, .done, .changed: stage.uploadAll()
        case .failed:
            stage.confirm(PathStage.key(1))
            stage.fail(PathStage.key(2))
        case .cancelled: stage.wish(.cancel, for: directory)
        case .removed:
            stage.remove(directory: directory)
            stage.settle()
            stage.quieten()
        case .parked: stage.restart(as: "ben")
        default: break
        }
        if standing == .done || standing == .changed { stage.answerAll() }
        if standing == .changed { stage.write("d/c", 3) }
        stage.settle()
        return stage
    }

    // MARK: Happening

    private static func outcome(of happening: Happening, in standing: Standing) -> String {
        var stage = stage(standing)
        stage.postActions = []
        let sent = stage.sendable
        var refusal: String?
        switch happening {
        case .told: stage.news.append(.settled(description))
        case .edited: stage.write(description, 3)
        case .broken: stage.write(description, 4)
        case .added: stage.write("d/e/c", 3)
        case .rewritten: stage.write("d/a", 3)
        case .lost: stage.remove("d/b")
        case .renamed: stage.rename("d/a", to: "d/z")
        case .moved: stage.rename(directory: directory, to: "y")
        case .dissolved: stage.remove(description)
        case .vanished: stage.remove(directory: directory)
        case .confirmed: stage.answerAll()
        case .refused: for id in stage.commits.keys { stage.answer(id, isRefused: true) }
        case .submit: refusal = stage.wish(.submit, for: directory)
        case .pause: refusal = stage.wish(.pause, for: directory)
        case .resume: refusal = stage.wish(.resume, for: directory)
        case .cancel: refusal = stage.wish(.cancel, for: directory)
        case .retry: refusal = stage.wish(.retry, for: directory)
        case .first: refusal = stage.wish(.first, for: directory)
        case .restart: stage.restart()
        }
        stage.settle()
        stage.quieten()
        var text = stage.posts.directories.first.flatMap { stage.posts[$0] }.map { word($0.record) } ?? "-"
        for action in stage.postActions {
            let letter =
                switch action {
                case .upload(.commit): "c"
                case .upload(.withdrawCommit): "w"
                case .path(.giveUp): "d"
                case .write(.forgetSource): "x"
                default: ""
                }
            if !letter.isEmpty, !text.contains(" \(letter)") { text += " \(letter)" }
        }
        if stage.sendable.subtracting(sent).count > 0 { text += " s" }
        if sent.subtracting(stage.sendable).contains(where: { stage.waits($0) }) { text += " h" }
        if refusal != nil { text += " !" }
        return stage.problem ?? text
    }

    private static func word(_ record: SourceRecord) -> String {
        let word =
            switch record.stage {
            case .draft: "draft"
            case .collecting: "collecting"
            case .uploading: "uploading"
            case .committing: "committing"
            case .done: "done"
            case .failed: "failed"
            case .cancelled: record.wasRemoved ? "removed" : "cancelled"
            case .rejected: "rejected"
            }
        return record.isPaused ? word + " p" : word
    }
}

extension PathStage {
    /// Lets all news arrive and all hashes end.
    fileprivate mutating func settle() {
        while !news.isEmpty || !hashes.isEmpty {
            tellNext()
            hash()
        }
    }

    /// Lets everything be quiet long enough for posts to be taken and removals to count.
    fileprivate mutating func quieten() {
        for _ in 0..<3 {
            pass(.seconds(3))
            tick()
            settle()
        }
    }

    fileprivate mutating func uploadAll() { for key in waiters.keys.sorted() { confirm(key) } }
    fileprivate mutating func answerAll() { for id in commits.keys.sorted() { answer(id) } }

    /// The contents with a waiter that nobody holds.
    fileprivate var sendable: Set<ContentKey> { Set(waiters.filter { $0.value.values.contains(false) }.keys) }

    fileprivate func waits(_ key: ContentKey) -> Bool { waiters[key] != nil }
}
