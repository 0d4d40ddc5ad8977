import Text

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
