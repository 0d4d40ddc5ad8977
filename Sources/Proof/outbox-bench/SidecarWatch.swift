import Glibc
import SystemPackage

/// Reports the sidecars that appear in a directory, by inotify (man 7 inotify).
struct SidecarWatch: ~Copyable {
    private static let suffix = ".outbox.json"

    private let directory: String
    private let queue: FileDescriptor
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 8)

    init(_ directory: String) throws {
        self.directory = directory
        queue = FileDescriptor(rawValue: inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)))
        guard queue.rawValue >= 0 else { throw Failure.system("inotify") }
        let added = inotify_add_watch(queue.rawValue, directory, UInt32(IN_MOVED_TO | IN_CREATE))
        guard added >= 0 else { throw Failure.system("watching \(directory)") }
    }

    deinit {
        try? queue.close()
        buffer.deallocate()
    }

    /// Returns the sidecars that appeared meanwhile; waits at most a second for the first event.
    ///
    /// - Returns: The names of files with a new sidecar, oldest first; nil if the kernel's event queue overflowed.
    func next() throws -> [String]? {
        var request = pollfd(fd: queue.rawValue, events: Int16(POLLIN), revents: 0)
        guard poll(&request, 1, 1000) > 0 else { return [] }
        let count = try queue.read(into: buffer)
        var names: [String] = []
        var offset = 0
        while offset < count {
            let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { return nil }
            let start = offset + MemoryLayout<inotify_event>.size
            offset = start + Int(event.len)
            let name = String(decoding: buffer[start..<offset].prefix { $0 != 0 }, as: UTF8.self)
            if name.hasSuffix(Self.suffix) { names.append(String(name.dropLast(Self.suffix.count))) }
        }
        return names
    }

    /// Whether the sidecar of a file says `done`; false without a sidecar.
    ///
    /// - Throws: `Failure` if the sidecar shows a final state other than `done`.
    func isDone(_ name: String) throws -> Bool {
        guard let json = TextFile.read("\(directory)/\(name)\(Self.suffix)"), let state = Self.state(in: json) else {
            return false
        }
        if ["failed", "cancelled", "rejected"].contains(state) { throw Failure("\(name) is not uploaded: \(json)") }
        return state == "done"
    }

    /// Returns the state in the sidecar of a file; nil without a sidecar.
    func state(of name: String) -> String? {
        TextFile.read("\(directory)/\(name)\(Self.suffix)").flatMap { Self.state(in: $0) }
    }

    private static func state(in json: String) -> String? {
        // Names of test files and URLs of the receiver cannot contain this text, and a JSON parser would take CPU
        // time from the contenders.
        guard let field = json.firstRange(of: "\"state\":") else { return nil }
        return String(json[field.upperBound...].drop { $0 != "\"" }.dropFirst().prefix { $0 != "\"" })
    }

    /// Waits until all these files are done.
    func waitUntilDone(_ names: [String], agent: ChildProcess, patience: Duration) throws {
        let deadline = ContinuousClock.now + patience
        var pending = Set(names)
        while !pending.isEmpty {
            try agent.checkRunning()
            guard ContinuousClock.now < deadline else {
                throw Failure("\(pending.count) of \(names.count) files were not done within \(patience)")
            }
            for name in Set(try next() ?? Array(pending)) where pending.contains(name) {
                if try isDone(name) { pending.remove(name) }
            }
        }
    }
}
