import Glibc
import LinuxSystem
import UploadCore

// Sidecars that belong to no file.
extension SidecarStore {
    /// Minimum age of a leftover temporary file, in seconds. Temporary files live for milliseconds; a kill leaves
    /// older ones.
    private static let temporaryAge: Int64 = 60

    /// Returns the content of a sidecar and its modification time in nanoseconds since 1970.
    func lastWord(of subject: SidecarSubject) -> (word: SidecarWord, written: Int64)? {
        let found = try? call(subject.directory, "reading the sidecar of \(subject) in") { () -> ([UInt8], Int64)? in
            guard let directory = try? existing(subject.directory), let name = find(subject, in: directory),
                let text = Self.content(of: name, in: directory, atMost: Self.longest),
                let status = try? directory.status(name)
            else { return nil }
            return (text, status.modified)
        }
        guard let (text, written) = found ?? nil, let word = SidecarWord(text) else { return nil }
        return (word, written)
    }

    /// Returns the owner of a sidecar, judged by place and text; `nil` for a foreign file.
    static func owner(
        of name: [UInt8], in directory: Directory, at path: RelativePath
    ) -> (subject: SidecarSubject, word: SidecarWord)? {
        guard let text = content(of: name, in: directory, atMost: longest) else { return nil }
        let source = SidecarSubject.source(path)
        if source.owns(text) {
            guard let word = SidecarWord(text), names(of: source).contains(name) else { return nil }
            return (source, word)
        }
        guard let word = SidecarWord(text) else { return nil }
        let subject = SidecarSubject.file(path.appending(word.path.name))
        guard subject.owns(text), names(of: subject).contains(name) else { return nil }
        return (subject, word)
    }

    /// Removes a stray sidecar or temporary file, after checking again that the agent wrote it. Also removes
    /// directories of a mirror tree that become empty.
    ///
    /// - Returns: whether the file was removed.
    @discardableResult
    package func remove(_ stray: StraySidecar) -> Bool {
        (try? call(stray.directory, "removing a sidecar in", isChange: true) { removeAtOnce(stray) }) ?? false
    }

    private func removeAtOnce(_ stray: StraySidecar) -> Bool {
        guard let directory = try? existing(stray.directory) else { return false }
        if let subject = stray.subject {
            guard Self.owner(of: stray.name, in: directory, at: stray.directory)?.subject == subject else {
                return false
            }
        } else {
            guard Self.isLeftBehind(stray.name, in: directory) else { return false }
        }
        guard (try? directory.unlink(stray.name)) != nil else { return false }
        if !standBesideFiles { removeEmptyDirectories(from: stray.directory) }
        return true
    }

    private func removeEmptyDirectories(from path: RelativePath) {
        guard let top = try? existing(.root) else { return }
        var path = path
        while !path.bytes.isEmpty, (try? top.removeDirectory(path.bytes)) != nil { path = path.parent }
    }

    /// Whether the agent left a temporary file behind. The file must be old, and either empty, zeroed by a power cut,
    /// or begin like a sidecar.
    private static func isLeftBehind(_ name: [UInt8], in directory: Directory) -> Bool {
        guard let status = try? directory.status(name), status.kind == .regular, status.owner == geteuid(),
            wallTimeMilliseconds() / 1000 - status.modified / 1_000_000_000 >= temporaryAge,
            let text = content(of: name, in: directory, atMost: head)
        else { return false }
        let opening = Array("{\n  \"version\": 1,\n".utf8)
        return text.allSatisfy { $0 == 0 } || text.prefix(opening.count).elementsEqual(opening.prefix(text.count))
    }
}
