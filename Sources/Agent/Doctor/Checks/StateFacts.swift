import Text

extension DirectoryFacts {
    /// Below this free space, the ledger may fail to grow: it needs room for a copy of the pages it changes, a few
    /// megabytes at a time.
    static let leastSpace: UInt64 = 16 << 20
    /// Below this free space, the user should act. The ledger of a million files takes less.
    static let scarceSpace: UInt64 = 200 << 20
    /// Below this number of free inodes, the user should act.
    static let scarceInodes: UInt64 = 1000

    /// Findings for the state directory.
    var stateFindings: [Finding] {
        func stop(_ what: String) -> [Finding] {
            [
                Finding(
                    .state, .stop, "\(path) \(what)",
                    remedy: "set `state` to a directory of the agent's user, or give it this one with `sudo chown`")
            ]
        }
        switch state {
        case .missing(nil, let system):
            let note = Finding(.state, .note, "\(path) does not exist; the agent creates it when it starts")
            return [note] + (system.map { stateFileSystem($0) + [stateSpace($0)] } ?? [])
        case .missing(let obstacle?, _): return stop("does not exist and can't be created: \(obstacle)")
        case .notADirectory: return stop("is not a directory")
        case .unreachable(let reason): return stop("can't be opened: \(reason)")
        case .present(let present):
            guard present.owner == user else { return stop("belongs to user \(present.owner), not to you (\(user))") }
            if present.fileSystem.isReadOnly {
                return stop("is mounted read-only") + stateFileSystem(present.fileSystem)
            }
            guard present.isReadable, present.isWritable else { return stop("can't be written to") }
            return [mode(present)] + stateFileSystem(present.fileSystem) + [stateSpace(present.fileSystem)]
        }
    }

    private func mode(_ present: Present) -> Finding {
        guard present.permissions & 0o077 != 0 else { return Finding(.state, .ok, "only you can access \(path)") }
        return Finding(
            .state, .warning, "others can access \(path) (mode \(FileMode.shown(present.permissions)))",
            remedy: "chmod 700 \(path); the agent does so when it starts")
    }

    private func stateFileSystem(_ system: FileSystem) -> [Finding] {
        let remedy = "set `state` to a directory on a local disk"
        return switch system.kind {
        case .local: [Finding(.stateFileSystem, .ok, system.name)]
        case .network, .fuse:
            [
                Finding(
                    .stateFileSystem, .stop,
                    "\(path) is on \(system.name): the ledger is a memory-mapped database and would be damaged there",
                    remedy: remedy)
            ]
        case .withoutModes:
            [
                Finding(
                    .stateFileSystem, .stop, "\(path) is on \(system.name), which knows no owners and holds no sockets",
                    remedy: remedy)
            ]
        case .memory:
            [
                Finding(
                    .stateFileSystem, .warning,
                    "\(path) is on \(system.name): after a reboot every file would be uploaded again", remedy: remedy)
            ]
        }
    }

    private func stateSpace(_ system: FileSystem) -> Finding {
        let free = Quantity.size(system.available)
        let room = "free space on the disk; `df -h \(path)` shows it"
        if system.available < Self.leastSpace {
            return Finding(.stateSpace, .stop, "\(free) left at \(path): progress can't be recorded", remedy: room)
        }
        if let inodes = system.freeInodes, inodes < Self.scarceInodes {
            return Finding(
                .stateSpace, inodes < 16 ? .stop : .warning, "only \(inodes) more files can be created at \(path)",
                remedy: "remove files on that disk; `df -i \(path)` shows it")
        }
        if system.available < Self.scarceSpace {
            return Finding(.stateSpace, .warning, "only \(free) left at \(path)", remedy: room)
        }
        return Finding(.stateSpace, .ok, "\(free) left")
    }
}
