import ControlAPI
import Glibc
import Intake
import LinuxSystem
import Reports
import Synchronization
import SystemPackage
import UploadCore

/// Puts files that come over the control interface into the outbox.
///
/// A file grows in a directory that the watch never enters, and is moved to its name once it is complete.
struct OutboxDrops: DropBackend {
    /// Each drop holds a descriptor and a connection.
    private static let mostAtOnce = 8
    /// In bytes; leaves room for the name of the sidecar.
    private static let longestPath = Int(PATH_MAX) - 64

    private let files: OutboxFiles
    private let rules: IntakeRules
    private let counter = Counter()
    /// Writes to the disk block, so they have a thread of their own.
    private let thread = SerialThread(name: "drops")

    init(files: OutboxFiles, rules: IntakeRules) {
        (self.files, self.rules) = (files, rules)
    }

    /// Removes what a killed agent left.
    func removeLeftovers() {
        try? files.call(IntakeRules.dropArea, "clearing", keepsResult: false) { [files] closer in
            guard let outbox = try? files.outbox.open(closer: closer),
                let area = try? outbox.directory(IntakeRules.dropArea.bytes, closer: closer),
                (try? area.status())?.owner == geteuid()
            else { return }
            for entry in (try? area.entries()) ?? [] { try? area.unlink(entry.name) }
            try? outbox.removeDirectory(IntakeRules.dropArea.bytes)
        }
    }

    func begin(_ name: String, size: UInt64) async throws(FileError) -> any IncomingDrop {
        guard let path = RelativePath(name), path != .root, path.parts.allSatisfy({ $0.count <= 255 }),
            path.bytes.count <= Self.longestPath
        else {
            throw FileError.drop("malformed_path", "\"\(name)\" is no path of a file in the outbox")
        }
        // A directory that is ignored hides its files.
        var above = path
        while above != .root {
            if rules.isIgnored(above) {
                throw FileError.drop("ignored_name", "\(path): the agent ignores files of this name")
            }
            above = above.parent
        }
        if let objection = rules.objection(toSize: size) { throw objection }
        guard let number = counter.begin(atMost: Self.mostAtOnce) else {
            throw FileError.drop("busy", "\(Self.mostAtOnce) drops are under way; try again when one has ended")
        }
        let drop = IncomingFile(
            path, number: number, files: files, rules: rules, thread: thread, onEnd: { [counter] in counter.end() })
        try await drop.create()
        return drop
    }

    /// Counts the drops under way, and numbers all.
    private final class Counter: Sendable {
        private let state = Mutex((active: 0, last: 0))

        func begin(atMost most: Int) -> Int? {
            state.withLock { state in
                guard state.active < most else { return nil }
                state.active += 1
                state.last += 1
                return state.last
            }
        }

        func end() { state.withLock { $0.active -= 1 } }
    }
}

/// A file that comes over the control interface.
private actor IncomingFile: IncomingDrop {
    private let path: RelativePath
    private let temporary: [UInt8]
    private let files: OutboxFiles
    private let rules: IntakeRules
    private nonisolated let thread: SerialThread
    private let onEnd: @Sendable () -> Void
    private var area: Directory?
    private var file: SharedDescriptor?
    /// The first bytes, until they tell the type; `nil` afterwards.
    private var head: [UInt8]? = []
    private var hasEnded = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(
        _ path: RelativePath, number: Int, files: OutboxFiles, rules: IntakeRules, thread: SerialThread,
        onEnd: @escaping @Sendable () -> Void
    ) {
        (self.path, self.files, self.rules, self.thread, self.onEnd) = (path, files, rules, thread, onEnd)
        temporary = Array("\(getpid())-\(number)".utf8)
    }

    func create() throws(FileError) {
        do throws(Errno) {
            // Nobody else may put a file in the place of one that was judged.
            let area = try files.outbox.open().createDirectories(
                IntakeRules.dropArea.bytes, mode: 0o700, isTrusted: { $0.owner == geteuid() })
            self.area = area
            file = SharedDescriptor(
                try area.open(temporary, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o666))
        } catch {
            discard()
            throw failure(error)
        }
    }

    func write(_ bytes: [UInt8]) throws(FileError) {
        if let head {
            let longer = head + bytes
            self.head = longer.count < MediaSignatures.prefixLength ? longer : nil
            if self.head == nil { try judge(longer) }
        }
        do throws(Errno) {
            guard let file else { throw .badFileDescriptor }
            try writeAll(bytes, to: file.rawValue)
        } catch {
            throw failure(error)
        }
    }

    /// Refuses a type that the agent would reject.
    private func judge(_ head: [UInt8]) throws(FileError) {
        let type = MediaSignatures.sniff(head) ?? .other
        if type != .other, path.name.elementsEqual(SourceReport.descriptionName.utf8) {
            throw .drop(
                "ignored_name", "\(path): a file of this name describes a post, and can't be a picture or a video")
        }
        let picture =
            type == .other ? head.withUnsafeBytes { MediaSignatures.nameOfUnknownPicture($0) } : nil
        if let objection = rules.objection(toType: type, picture: picture) { throw objection }
    }

    func finish() throws(FileError) -> (path: RelativePath, id: String) {
        if let head { try judge(head) }
        do throws(Errno) {
            guard let area, let file else { throw .badFileDescriptor }
            try retryingOnInterrupt { fdatasync(file.rawValue) }
            let directory = try files.outbox.open().createDirectories(path.parent.bytes)
            let name = try place(in: directory, from: area)
            try retryingOnInterrupt { fsync(directory.rawValue) }
            end()
            return (name, FileReport.id(of: name))
        } catch {
            throw failure(error)
        }
    }

    /// Moves the file to the first free name.
    private func place(in directory: Directory, from area: Directory) throws(Errno) -> RelativePath {
        for number in 1...10_000 {
            let name = path.copy(number)
            do {
                try area.moveWithoutReplacing(temporary, to: Array(name.name), in: directory)
                return name
            } catch Errno.fileExists {}
        }
        throw .fileExists
    }

    func discard() {
        if hasEnded { return }
        try? area?.unlink(temporary)
        end()
    }

    private func end() {
        hasEnded = true
        file = nil
        area = nil
        // Fails while another drop is under way.
        try? files.outbox.open().removeDirectory(IntakeRules.dropArea.bytes)
        onEnd()
    }

    private func failure(_ errno: Errno) -> FileError {
        switch errno {
        case .noSpace, .diskQuotaExceeded: .drop("disk_full", "\(path): no space is left in the outbox")
        case .fileNameTooLong: .drop("malformed_path", "\(path): the name is too long for this file system")
        case .improperLink:
            .drop("input_output", "\(path): its directory is on another file system; drop the file beside it")
        case .notDirectory, .tooManySymbolicLinkLevels:
            .drop("malformed_path", "\(path): a file or a symbolic link of the outbox stands where a directory should")
        default: .drop("input_output", "\(path): the file can't be stored in the outbox: \(errno)")
        }
    }
}

extension FileError {
    fileprivate static func drop(_ code: String, _ message: String) -> FileError {
        FileError(code: code, message: message, retryable: false)
    }
}
