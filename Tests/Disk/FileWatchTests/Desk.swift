import LinuxSystem
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import FileWatch

/// What the user of a watch knows.
private final class Books: Sendable {
    struct State {
        var inWork: [(path: RelativePath, status: FileStatus)] = []
        var known: [RelativePath: FileStatus] = [:]
        var mostInWork = 0
        var questions = 0
    }

    let state = Mutex(State())

    var inWork: Int { state.withLock { $0.inWork.count } }

    func handle(_ events: [WatchEvent]) {
        state.withLock { state in for event in events { state.handle(event) } }
    }
}

/// A user of the watch that works on reported files, and ends the work when the test says so.
final class Desk: Sendable {
    private let books: Books
    let outbox: Outbox
    let load: IntakeLoad

    init(
        window: Int = 3, settle: Duration = .zero, nameLimit: Int = 1 << 20,
        kernel: Kernel = .withoutMounts,
        isUrgent: @escaping @Sendable (RelativePath) -> Bool = { _ in false }
    ) throws {
        let books = Books()
        self.books = books
        load = IntakeLoad(window: window) { books.inWork }
        var options = FileWatch.Options.quick(
            settle: settle, isKnown: { path, status in books.state.withLock { $0.isKnown(path, status) } })
        options.isUrgent = isUrgent
        options.load = load
        options.nameLimit = nameLimit
        outbox = try Outbox(options, kernel: kernel) { books.handle($0) }
    }

    /// The status of each file at the end of its work.
    var known: [RelativePath: FileStatus] { books.state.withLock { $0.known } }
    /// The paths in work, sorted.
    var inWork: [String] { books.state.withLock { $0.inWork.map(\.path.description).sorted() } }
    /// The largest number of files that were in work at a time.
    var mostInWork: Int { books.state.withLock { $0.mostInWork } }

    /// How often the watch asked whether a file is known.
    var questions: Int { books.state.withLock { $0.questions } }

    /// Ends the work on some files.
    func work(_ count: Int = .max) {
        books.state.withLock { state in
            for (path, status) in state.inWork.prefix(count) { state.known[path] = status }
            state.inWork.removeFirst(min(count, state.inWork.count))
        }
        load.report(0)
    }

    /// Ends all work until the watch has reported everything and the condition holds.
    func workUntil(_ what: String, _ condition: () throws -> Bool) async throws {
        try await Poll.until(what, lastState: { outbox.story.suffix(40).joined(separator: ", ") }) {
            work()
            return try condition()
        }
    }

    /// Whether the user knows exactly the files on disk, each in its present state.
    func knowsDisk() throws -> Bool { try known == files(below: .root, of: Directory(path: outbox.root)) }

    private func files(
        below place: RelativePath, of directory: Directory
    ) throws -> [RelativePath: FileStatus] {
        var found: [RelativePath: FileStatus] = [:]
        for entry in try directory.entries() {
            let path = place.appending(entry.name)
            if entry.isDirectory == true {
                found.merge(try files(below: path, of: directory.directory(entry.name))) { $1 }
            } else {
                found[path] = try directory.status(entry.name)
            }
        }
        return found
    }
}

extension Books.State {
    fileprivate mutating func isKnown(_ path: RelativePath, _ status: FileStatus) -> Bool {
        questions += 1
        return known[path] == status
    }

    fileprivate mutating func handle(_ event: WatchEvent) {
        switch event {
        case .ready(let path, let status):
            inWork.removeAll { $0.path == path }
            inWork.append((path, status))
            mostInWork = max(mostInWork, inWork.count)
        case .gone(let path): forget { $0.isWithin(path) }
        case .renamed(let old, let new, _):
            forget { $0.isWithin(new) }
            inWork = inWork.map { ($0.path.moved(from: old, to: new) ?? $0.path, $0.status) }
            known = Dictionary(
                uniqueKeysWithValues: known.map { ($0.key.moved(from: old, to: new) ?? $0.key, $0.value) })
        case .scanned(let summary): forget { !summary.contains($0) }
        default: break
        }
    }

    private mutating func forget(_ isMeant: (RelativePath) -> Bool) {
        inWork.removeAll { isMeant($0.path) }
        known = known.filter { !isMeant($0.key) }
    }
}
