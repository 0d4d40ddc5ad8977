import Text

/// A directory that the agent uses.
struct DirectoryFacts: Equatable, Sendable {
    enum State: Equatable, Sendable {
        /// The directory is missing. The agent creates it unless there is an obstacle. `on` is the file system of its
        /// nearest existing parent.
        case missing(obstacle: String?, on: FileSystem? = nil)
        case notADirectory
        case unreachable(String)
        case present(Present)
    }

    /// Properties of an existing directory.
    struct Present: Equatable, Sendable {
        var permissions: UInt32
        /// User id of the owner.
        var owner: UInt32
        /// Whether the user can list and enter the directory.
        var isReadable: Bool
        /// Whether the user can create names in the directory.
        var isWritable: Bool
        var fileSystem: FileSystem
    }

    var path: String
    var state: State
    /// The user id of this process.
    var user: UInt32

    /// The remedy for an unusable directory.
    private var access: String { "see `ls -ld \(path)`, and give it to the agent's user with `sudo chown`" }
}

// MARK: - The outbox

extension DirectoryFacts {
    /// Findings for the watched directory.
    ///
    /// - Parameter isKnown: Whether an agent has worked with it before.
    func outboxFindings(isKnown: Bool = false) -> [Finding] {
        switch state {
        case .missing where isKnown:
            return [
                Finding(
                    .outbox, .stop, "\(path) is gone: it was moved, removed or unmounted",
                    remedy: "bring it back, or set `outbox` to its new place")
            ]
        case .missing(nil, let system):
            let note = Finding(.outbox, .note, "\(path) does not exist; the agent creates it when it starts")
            return [note] + (system.map(outboxFileSystem) ?? [])
        case .missing(let obstacle?, _):
            return [
                Finding(
                    .outbox, .stop, "\(path) does not exist and can't be created: \(obstacle)",
                    remedy: "create it, or set `outbox` to another directory")
            ]
        case .notADirectory:
            return [Finding(.outbox, .stop, "\(path) is not a directory", remedy: "set `outbox` to a directory")]
        case .unreachable(let reason):
            return [Finding(.outbox, .stop, "\(path) can't be opened: \(reason)", remedy: access)]
        case .present(let present): return outbox(present) + outboxFileSystem(present.fileSystem)
        }
    }

    private func outbox(_ present: Present) -> [Finding] {
        guard present.isReadable else {
            return [Finding(.outbox, .stop, "\(path) can't be listed and entered by this user", remedy: access)]
        }
        guard present.isWritable || present.fileSystem.isReadOnly else {
            return [
                Finding(
                    .outbox, .warning, "\(path) can't be written to: files are uploaded, but get no sidecars",
                    remedy: "\(access), or set sidecars.directory")
            ]
        }
        guard present.isWritable else {
            return [
                Finding(
                    .outbox, .warning, "\(path) is mounted read-only: files are uploaded, but get no sidecars",
                    remedy: "set sidecars.directory, or mount it read-write")
            ]
        }
        return [Finding(.outbox, .ok, "\(path) can be read and written")]
    }

    private func outboxFileSystem(_ system: FileSystem) -> [Finding] {
        let type: Finding
        switch system.kind {
        case .network, .fuse:
            type = Finding(
                .outboxFileSystem, .note,
                "\(system.name): the kernel does not report changes by other machines, so the agent scans it every 5 s")
        case .memory:
            type = Finding(
                .outboxFileSystem, .warning, "\(system.name): files that are not uploaded yet are lost at a reboot",
                remedy: "set `outbox` to a directory on a disk")
        case .local, .withoutModes: type = Finding(.outboxFileSystem, .ok, system.name)
        }
        return [type] + (system.isReadOnly ? [] : [outboxSpace(system)])
    }

    private func outboxSpace(_ system: FileSystem) -> Finding {
        let free = Quantity.size(system.available)
        if system.freeInodes == 0 {
            return Finding(
                .outboxSpace, .warning, "no file can be created in \(path) (out of inodes): no sidecars",
                remedy: "remove files there; `df -i \(path)` shows their number")
        }
        if system.available < 16 << 20 {
            return Finding(
                .outboxSpace, .warning, "\(free) left at \(path): sidecars can't be written",
                remedy: "free space there; `df -h \(path)`")
        }
        return Finding(.outboxSpace, .ok, "\(free) left")
    }
}

// MARK: - Sidecars

extension DirectoryFacts {
    /// Findings for `sidecars.directory`; uploads don't depend on it.
    var sidecarFindings: [Finding] {
        func warning(_ what: String) -> [Finding] {
            [
                Finding(
                    .sidecars, .warning, "\(path) \(what): no sidecars",
                    remedy: "correct sidecars.directory, or \(access)")
            ]
        }
        switch state {
        case .missing(nil, _):
            return [Finding(.sidecars, .note, "\(path) does not exist; the agent creates it when needed")]
        case .missing(let obstacle?, _): return warning("does not exist and can't be created: \(obstacle)")
        case .notADirectory: return warning("is not a directory")
        case .unreachable(let reason): return warning("can't be opened: \(reason)")
        case .present(let present):
            guard present.isReadable, present.isWritable else { return warning("can't be written to") }
            return [Finding(.sidecars, .ok, "\(path) can be written")]
        }
    }
}
