import AgentSupport
import UploadCore

extension SourceReport {
    /// The sidecar's text: a JSON object with one member or file per line and a trailing newline (docs/sidecars.md).
    package func sidecarText() -> [UInt8] {
        var text = JSONText(layout: .members)
        text.object { write(into: &$0) }
        return text.bytes + [UInt8(ascii: "\n")]
    }

    /// The source as the control interface returns it: the sidecar's members, `speed` (bytes per second), `eta`
    /// (seconds) and `bytes_in_flight`, on one line.
    package func controlText() -> [UInt8] {
        var text = JSONText(layout: .line)
        text.object { text in
            write(into: &text)
            text.member("speed", bytesPerSecond)
            text.member("eta", secondsLeft)
            text.member("bytes_in_flight", bytesInFlight)
        }
        return text.bytes
    }

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

    /// Seconds left at the speed of the last seconds; `nil` if there is no speed.
    package var secondsLeft: UInt64? {
        guard let speed = bytesPerSecond, speed > 0 else { return nil }
        let left = UInt64((1 - min(max(progress, 0), 1)) * Double(size))
        return (left - min(left, bytesInFlight ?? 0)) / speed
    }

    /// The progress in sidecars and answers.
    var shownProgress: Double { FileReport.shown(progress, isDone: state == .file(.done)) }

    private func write(into text: inout JSONText) {
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
