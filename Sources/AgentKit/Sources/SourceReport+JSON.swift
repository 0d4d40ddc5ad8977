import UploadCore

extension SourceReport {
    /// The sidecar's text: one JSON object, a member a line, with a trailing newline (docs/sources.md).
    public func sidecarText() -> [UInt8] {
        var text = JSONText(layout: .members)
        text.object { text in
            text.member("version", 1)
            text.member("id", id)
            text.member("path", directory.description)
            text.member("title", title)
            text.member("state", state.word)
            text.member("revision", revision)
            text.member("progress", progress)
            text.nested("files") { text in
                for file in files { text.member(file.path.description, file.state.rawValue) }
            }
            text.member("finished_at", finishedAt.map(Timestamp.text))
            text.member("updated_at", Timestamp.text(updatedAt))
        }
        return text.bytes + [UInt8(ascii: "\n")]
    }
}
