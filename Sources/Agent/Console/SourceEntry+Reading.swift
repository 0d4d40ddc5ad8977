import Reports

extension SourceEntry {
    /// Whether the source is a draft, which is not uploaded until it is submitted.
    package var isDraft: Bool { state == SourceState.draft.word }

    /// The directory, quoted for a command line.
    package var typedPath: String { ShellWord.text(path) }
}
