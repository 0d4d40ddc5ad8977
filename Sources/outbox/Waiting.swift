import AgentKit
import UploadCore

/// `wait` at work: asks the agent again and again, and shows what happens.
struct Waiting {
    private let link: AgentLink
    private let needsScan: Bool
    /// The files to ask for one by one; nil where there are directories among the targets, or too many files.
    private let named: [RelativePath]?
    private var follower: FileFollower
    private var hasReadAll = false
    private var display: ProgressDisplay
    /// Paths whose failure was told.
    private var told: Set<String> = []
    /// What is known of the files that are waited for.
    private(set) var course: WaitCourse

    /// More failures than this are counted, not listed.
    private static let longestList = 20
    /// More named files than this are not asked for one by one.
    private static let mostQuestions = 32

    init(link: AgentLink, targets: Set<WaitTarget>, display: ProgressDisplay) {
        self.link = link
        self.display = display
        course = WaitCourse(for: targets)
        needsScan = targets.contains { if case .below = $0 { true } else { false } }
        let files = targets.compactMap { if case .file(let path) = $0 { path } else { nil } }
        named = files.count == targets.count && files.count <= Self.mostQuestions ? files : nil
        follower = FileFollower(link.client)
    }

    /// Waits.
    ///
    /// - Returns: false when the time was over first.
    /// - Throws: `ControlError` when the agent ends meanwhile.
    mutating func run(timeout: Duration?) async throws -> Bool {
        let interruption = display.isLive ? Interruption() : nil
        defer { display.clear() }
        var pace = PollPace()
        while true {
            pace.ask()
            // Asked before the list: what the scan found is in it then.
            let hasScanned = needsScan ? try await link.client.health().scanned : true
            var isOver = try await look(hasScanned: hasScanned, now: pace.elapsed)
            if isOver && named == nil {
                // What came and ended between two questions is only in the whole list.
                try await follower.readAll()
                isOver = try look(at: follower.mirror.files, hasScanned: hasScanned, now: pace.elapsed)
            }
            if isOver {
                tellTheRest()
                return true
            }
            if let timeout, pace.elapsed >= timeout { return false }
            if let signal = interruption?.signal {
                display.clear()
                Interruption.end(by: signal)
            }
            try await pace.rest(until: timeout)
        }
    }

    /// Asks the agent, and shows what is new.
    ///
    /// - Returns: whether the waiting is over.
    private mutating func look(hasScanned: Bool, now: Duration) async throws -> Bool {
        try look(at: try await readFiles(), hasScanned: hasScanned, now: now)
    }

    private mutating func look(at files: [FileEntry], hasScanned: Bool, now: Duration) throws -> Bool {
        let place = link.place
        let look = course.look(
            at: files, hasScanned: hasScanned, exists: { place.kind(of: $0) != .missing }, now: now)
        try show(look)
        return look.isOver
    }

    /// All files that matter: everything at first, then only what may have changed.
    private mutating func readFiles() async throws -> [FileEntry] {
        if let named {
            var files: [FileEntry] = []
            for path in named {
                if let file = try await link.client.file(at: path) { files.append(file) }
            }
            return files
        }
        if hasReadAll {
            _ = try await follower.readActive()
            for path in course.unknown.prefix(Self.mostQuestions) {
                if let file = try await link.client.file(at: path) { follower.note(file) }
            }
        } else {
            try await follower.readAll()
            hasReadAll = true
        }
        return follower.mirror.files
    }

    private mutating func show(_ look: WaitCourse.Look) throws {
        let outputLook = display.look
        tell(look.ended.filter { !$0.isDone })
        let shown = course.shown
        try display.show(
            shown, moved: look.moved, ended: look.ended.filter(\.isDone).map { $0.outcomeLine(outputLook) },
            last: { _, board in board.total(shown) })
    }

    /// Says on stderr what did not become done.
    private mutating func tell(_ files: [FileEntry]) {
        let new = files.filter { told.insert($0.path + $0.state).inserted }
        guard !new.isEmpty else { return }
        display.clear()
        let look = Output.error.look(link.surroundings.environment)
        for file in new { Output.error.attempt(file.outcomeLine(look)) }
    }

    /// Says what had failed before the waiting began, and what vanished.
    private mutating func tellTheRest() {
        let rest = course.known.filter { $0.isFinal && !$0.isDone && !told.contains($0.path + $0.state) }
        tell(Array(rest.prefix(Self.longestList)))
        if rest.count > Self.longestList {
            Output.error.attempt("and \(rest.count - Self.longestList) more; `outbox status --all` lists them")
        }
        display.clear()
        for path in course.unknown {
            Output.error.attempt(
                "vanished \(DisplayText.escaped(path.description)): it was gone before the agent saw it")
        }
    }
}
