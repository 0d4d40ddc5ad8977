import CLinux
import Glibc
import LinuxSystem

extension Configuration {
    /// Returns why the agent must not start because its directories overlap on disk; `nil` if they are separate.
    ///
    /// `ruleViolations` compares paths as text. This check follows symbolic links, as the kernel does. Blocks on the
    /// disk.
    package func nestingRefusal() -> String? {
        let outside = "set it to a path outside the outbox"
        let inside = [
            ("state", state, "the stored token would be uploaded; \(outside)"),
            ("avatars", avatars, "its pictures would be uploaded; \(outside)"),
            ("sidecars.directory", sidecars.directory, "\"\" puts sidecars beside the files"),
            ("remote.token_file", remote.tokenFile, "the token would be uploaded; keep it elsewhere"),
        ]
        for case (let key, let path?, let reason) in inside where DirectoryChain(of: path).passes(through: outbox) {
            return "\(key) (\(path)) leads into the outbox (\(outbox)): \(reason)"
        }
        for (key, path) in [("state", state), ("avatars", avatars)]
        where DirectoryChain(of: outbox).passes(through: path) {
            return "outbox (\(outbox)) leads into \(key) (\(path)), where the agent keeps files of its own; "
                + "set it to another directory"
        }
        return nil
    }
}

/// A directory and its ancestors as the kernel sees them, with symbolic links resolved.
private struct DirectoryChain {
    private let links: [DirectoryIdentity]

    /// Creates the chain of a path. If the path is missing, the chain begins at its nearest existing ancestor.
    init(of path: String) {
        var path = path
        var links: [DirectoryIdentity] = []
        var directory = Self.open(path)
        while directory == nil, let slash = path.lastIndex(of: "/"), path != "/" {
            path = slash == path.startIndex ? "/" : String(path[..<slash])
            directory = Self.open(path)
        }
        while let current = directory, let status = try? FileStatus(of: current.rawValue) {
            // The root directory is its own parent.
            let identity = DirectoryIdentity(status)
            if links.last == identity { break }
            links.append(identity)
            directory = Self.parent(of: current)
        }
        self.links = links
    }

    /// Whether a directory is in the chain.
    func passes(through path: String) -> Bool {
        (try? FileStatus(path: path)).map { links.contains(DirectoryIdentity($0)) } ?? false
    }

    private static let flags = O_PATH | O_DIRECTORY

    private static func parent(of directory: SharedDescriptor) -> SharedDescriptor? {
        let raw = outbox_openat(directory.rawValue, "..", flags | O_CLOEXEC, 0)
        return raw < 0 ? nil : SharedDescriptor(Descriptor(owning: raw))
    }

    /// Opens a directory, or the directory of a file.
    private static func open(_ path: String) -> SharedDescriptor? {
        if let directory = try? SharedDescriptor(opening: path, flags: flags) { return directory }
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        let target = String(cString: real)
        return target.lastIndex(of: "/").flatMap {
            try? SharedDescriptor(opening: String(target[...$0]), flags: flags)
        }
    }
}
