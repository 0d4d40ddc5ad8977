import Glibc
public import LinuxSystem
import Synchronization
public import SystemPackage
public import UploadCore

/// Knows which paths of the outbox lie on file systems that may not answer, and makes calls there on ``Lanes``.
///
/// Every mount below the outbox is such a file system. The outbox's own is one if its type says that a server or another
/// process answers for it. Also remembers the mount points, so that nothing is written where a mount was.
public final class OutboxMounts: Sendable {
    /// A file system that may not answer.
    public struct Place: Sendable {
        /// The absolute path of the mount, for people.
        public let name: String
        /// Closes descriptors of the file system: close(2) can block too.
        public let closer: SharedDescriptor.Closer
    }

    private struct State {
        /// The outbox's absolute path without symbolic links; nil until it is known.
        var base: [UInt8]?
        /// The outbox's own file system, if it may not answer.
        var own: Place?
        var mounts: [RelativePath: (id: UInt64, place: Place)] = [:]
        /// Mount points without a mount, and the mount they had.
        var bare: [RelativePath: UInt64] = [:]
        var isRead = false
    }

    /// Absolute path of the outbox.
    public let root: String
    /// Makes the calls.
    public let lanes: Lanes
    private let monitor: MountMonitor
    private let state = Mutex(State())

    /// Reads the mount table.
    ///
    /// - Parameter root: absolute path of the outbox, which may be a symbolic link and need not exist.
    /// - Throws: `Errno` if `/proc/self/mountinfo` can't be opened.
    public convenience init(root: String, lanes: Lanes = Lanes()) throws(Errno) {
        try self.init(root: root, lanes: lanes, monitor: MountMonitor())
    }

    init(root: String, lanes: Lanes, monitor: MountMonitor) {
        self.root = root
        self.lanes = lanes
        self.monitor = monitor
        refresh()
    }

    /// Returns the file system of a path if it may not answer; nil if calls on the path return.
    public func place(of path: RelativePath) -> Place? {
        state.withLock { state in
            update(&state)
            if state.mounts.isEmpty { return state.own }
            let above = state.mounts.filter { path.isWithin($0.key) }
            return above.max { $0.key.bytes.count < $1.key.bytes.count }?.value.place ?? state.own
        }
    }

    /// Returns the lane for calls on a path; nil if such calls return.
    public func lane(of path: RelativePath) -> Lanes.Lane? { place(of: path).map { Lanes.Lane(lanes, at: $0.name) } }

    /// Whether a path is, or lies below, a mount point whose file system is not mounted.
    public func isBare(_ path: RelativePath) -> Bool {
        state.withLock { state in
            update(&state)
            if state.bare.isEmpty { return false }
            return state.bare.keys.contains { path.isWithin($0) }
        }
    }

    /// Makes a call that looks at a path.
    ///
    /// - Parameters:
    ///   - work: what the call does, for people: "reading".
    ///   - body: gets the closer for what it opens. May run on after this function has thrown.
    /// - Throws: the error of the call; `.timedOut` if its file system does not answer.
    public func call<Result: Sendable>(
        _ path: RelativePath, _ work: String, keepsResult: Bool = true,
        _ body: @escaping @Sendable (SharedDescriptor.Closer?) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        try call(path, at: place(of: path), work, keepsResult: keepsResult, body)
    }

    /// Makes a call that looks at a path whose file system is known.
    public func call<Result: Sendable>(
        _ path: RelativePath, at place: Place?, _ work: String, keepsResult: Bool = true,
        _ body: @escaping @Sendable (SharedDescriptor.Closer?) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        guard let place else { return try body(nil) }
        let name = path == .root ? "the outbox" : path.description
        return try lanes.call(place.name, "\(work) \(name)", keepsResult: keepsResult) { () throws(Errno) in
            try body(place.closer)
        }
    }

    /// Finds the outbox again, for instance because its symbolic link leads elsewhere now.
    public func refresh() {
        let base = Self.resolve(root, lanes)
        state.withLock { state in
            if let base, base != state.base {
                state.base = base
                state.bare = [:]
                state.mounts = [:]
            }
            state.isRead = false
            update(&state)
        }
    }

    private static func resolve(_ root: String, _ lanes: Lanes) -> [UInt8]? {
        try? lanes.call(root, "finding the outbox") { () throws(Errno) -> [UInt8] in
            guard let path = realpath(root, nil) else { throw Errno(rawValue: errno) }
            defer { free(path) }
            return Array(UnsafeBufferPointer(start: path, count: strlen(path))).map { UInt8(bitPattern: $0) }
        }
    }

    private func update(_ state: inout State) {
        let isChanged = monitor.isChanged()
        guard isChanged || !state.isRead, var text = try? monitor.text() else { return }
        // A change between two reads could leave a mount out.
        for _ in 0..<3 where monitor.isChanged() { text = (try? monitor.text()) ?? text }
        state.isRead = true
        let base = state.base ?? Array(root.utf8)
        let present = MountTable.parse(text, below: base)
        let ids = Set(present.values.map(\.id))
        // A mount point that was renamed with a directory above it is not bare.
        for (path, known) in state.mounts where present[path] == nil && !ids.contains(known.id) {
            state.bare[path] = known.id
        }
        for path in present.keys { state.bare[path] = nil }
        let former = state.mounts
        state.mounts = [:]
        for (path, mount) in present {
            if let known = former[path], known.id == mount.id {
                state.mounts[path] = known
            } else {
                state.mounts[path] = (mount.id, Self.place(named: "\(root)/\(path)"))
            }
        }
        let own = MountTable.mount(of: base, in: text)
        let mayBlock = own.map { !FileSystemType.answers(String(decoding: $0.mount.type, as: UTF8.self)) } ?? false
        if mayBlock != (state.own != nil) { state.own = mayBlock ? Self.place(named: root) : nil }
    }

    private static func place(named name: String) -> Place {
        let closing = ClosingThread()
        return Place(name: name) { descriptor in closing.close(descriptor) }
    }
}

/// Closes descriptors of one file system, on a thread that starts with the first one.
private final class ClosingThread: Sendable {
    private let thread = Mutex<SerialThread?>(nil)

    func close(_ descriptor: Int32) {
        let thread = thread.withLock { thread in
            let present = thread ?? SerialThread(name: "close")
            thread = present
            return present
        }
        // man 2 close: not retried.
        thread.run { _ = Glibc.close(descriptor) }
    }
}
