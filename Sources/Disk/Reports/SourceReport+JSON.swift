package import Text
import UploadCore

extension SourceReport {
    package var knownSize: UInt64? { size }

    /// Bytes per second over the last seconds, summed over all files; `nil` while no file is uploading.
    package var bytesPerSecond: UInt64? {
        let speeds = files.compactMap(\.bytesPerSecond)
        return speeds.isEmpty ? nil : speeds.reduce(0) { $0.addingReportingOverflow($1).partialValue }
    }

    /// Bytes of fragments in flight that the peer acknowledged, summed over all files; `nil` while no file is
    /// uploading.
    package var bytesInFlight: UInt64? {
        let bytes = files.compactMap(\.bytesInFlight)
        return bytes.isEmpty ? nil : bytes.reduce(0) { $0.addingReportingOverflow($1).partialValue }
    }

    package func write(into text: inout JSONText) {
        text.member("version", 1)
        text.member("id", id)
        text.path(directory)
        text.member("title", title)
        text.member("cover", cover?.description)
        text.member("state", state.word)
        text.member("revision", revision)
        text.member("url", url)
        text.member("progress", shownProgress)
        text.member("size", size)
        text.objects("files", files) { file, text in write(file, into: &text) }
        text.strings("skipped", skipped.map(\.description))
        text.strings("pending_changes", pendingChanges.map(\.description))
        text.member("next_attempt_at", nextAttemptAt.map(Timestamp.text))
        text.error(error)
        text.member("accepted_at", Timestamp.text(acceptedAt))
        text.member("finished_at", finishedAt.map(Timestamp.text))
        text.member("updated_at", Timestamp.text(updatedAt))
    }

    private func write(_ file: FileReport, into text: inout JSONText) {
        text.path(file.path)
        text.member("name", name(of: file).description)
        text.member("key", file.key?.description)
        text.member("kind", file.type?.kind.rawValue)
        text.member("state", file.state.rawValue)
        text.member("progress", file.shownProgress)
        text.member("size", file.size)
        text.member("url", file.remote.url)
        text.error(file.error)
    }

    /// The file's path relative to the directory, also after `intake.after_upload` has moved it elsewhere.
    func name(of file: FileReport) -> RelativePath {
        file.path.relative(to: directory) ?? file.movedFrom?.relative(to: directory) ?? file.path
    }
}

extension SourceReport {
    /// Parts of the sidecar's text that distinguish this outcome from all others. Each part begins with the line
    /// break before a member of the source itself, since members of files stand within a line.
    package var outcome: [String] {
        let finished = finishedAt.map { "\"\(Timestamp.text($0))\"" } ?? "null"
        return [
            "\n  \"state\": \"\(state.word)\"",
            "\n  \"revision\": \(revision),",
            "\n  \"finished_at\": \(finished)",
        ]
    }

    /// Whether a text is the sidecar of a source. Distinguishes the agent's sidecars from foreign files.
    ///
    /// Accepts the sidecar of any source, since a sidecar in a renamed or copied directory names another source.
    package static func isSidecar(_ text: [UInt8]) -> Bool {
        let opening = Array("{\n  \"version\": 1,\n  \"id\": \"".utf8)
        guard text.starts(with: opening) else { return false }
        let rest = text.dropFirst(opening.count)
        return rest.prefix(idLength).count(where: isHexadecimal) == idLength
            && rest.dropFirst(idLength).starts(with: "\",\n  \"path\": \"".utf8)
    }

    private static let idLength = 32

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }
}
