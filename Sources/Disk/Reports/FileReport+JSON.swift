package import Text
import Ledger
package import UploadCore

extension FileReport {
    package var knownSize: UInt64? { sentSize }

    /// Writes `id`, the sidecar's members, `source` if the file belongs to one, and `moved_from` if the file was moved.
    package func writeAnswer(into text: inout JSONText) {
        text.member("id", id)
        write(into: &text)
        if let source { text.member("source", source) }
        if let movedFrom { text.member("moved_from", movedFrom.description) }
    }

    /// Parts of the sidecar's text that distinguish this outcome from all others.
    package var outcome: [String] {
        [
            "\"state\": \"\(state.rawValue)\"",
            "\"finished_at\": \"\(Timestamp.text(finishedAt ?? updatedAt))\"",
        ]
    }

    /// A stable, opaque id of the path: 32 hexadecimal digits.
    package var id: String { Self.id(of: path) }

    /// Returns the stable, opaque id of a path.
    package static func id(of path: RelativePath) -> String { Ledger.identifier(of: path) }

    /// Whether a text is the sidecar of a file. Distinguishes the agent's sidecars from foreign files.
    ///
    /// In a renamed directory, a sidecar still names the old path. The unchanged file name suffices to accept the
    /// sidecar.
    package static func isSidecar(_ text: [UInt8], of path: RelativePath) -> Bool {
        let opening = beginning(of: .root).dropLast()
        guard text.starts(with: opening) else { return false }
        // JSON escapes line feeds, so the path ends at the first one.
        let line = text.dropFirst(opening.count).prefix { $0 != UInt8(ascii: "\n") }.dropLast()
        let name = [UInt8(ascii: "/")] + beginning(of: RelativePath.root.appending(path.name)).dropFirst(opening.count)
        return line.elementsEqual(beginning(of: path).dropFirst(opening.count)) || line.elementsEqual(name.dropFirst())
            || line.suffix(name.count).elementsEqual(name)
    }

    /// Returns the beginning that all sidecars of a path share.
    private static func beginning(of path: RelativePath) -> [UInt8] {
        var text = JSONText(layout: .members)
        text.object { writeHead(path, into: &$0) }
        return text.bytes.dropLast(2)
    }

    private static func writeHead(_ path: RelativePath, into text: inout JSONText) {
        text.member("version", 1)
        text.member("path", path.description)
    }

    package func write(into text: inout JSONText) {
        Self.writeHead(path, into: &text)
        if let bytes = path.base64IfNotUTF8 { text.member("path_bytes", bytes) }
        text.member("key", key?.description)
        text.member("state", state.rawValue)
        text.member("kind", type?.kind.rawValue)
        text.member("type", type?.mime)
        text.member("size", size)
        text.member("width", facts.width)
        text.member("height", facts.height)
        text.member("duration", facts.duration)
        if let fragments {
            text.nested("fragments") { text in
                text.member("total", fragments.total)
                text.member("finished", fragments.finished)
            }
        } else {
            text.null("fragments")
        }
        text.member("progress", shownProgress)
        text.member("hashed", hashed)
        text.nested("remote") { text in
            text.member("protocol", remoteProtocol)
            text.member("id", remote.id)
            text.member("url", remote.url)
        }
        writeProduct(into: &text)
        text.member("deduplicated", deduplicated)
        text.member("attempts", attempts)
        writeTimes(into: &text)
    }

    private func writeProduct(into text: inout JSONText) {
        guard let product = shownProduct else { return text.null("product") }
        text.nested("product") { text in
            text.member("key", productKey?.description)
            text.member("type", product.made?.type.mime)
            text.member("size", product.made?.size)
            text.member("width", product.made?.facts.width)
            text.member("height", product.made?.facts.height)
            text.member("duration", product.made?.facts.duration)
            text.member("recipe", product.recipe)
            text.member("error", product.error)
        }
    }

    private func writeTimes(into text: inout JSONText) {
        text.member("next_attempt_at", nextAttemptAt.map(Timestamp.text))
        text.error(error)
        text.member("accepted_at", Timestamp.text(acceptedAt))
        text.member("started_at", startedAt.map(Timestamp.text))
        text.member("finished_at", finishedAt.map(Timestamp.text))
        text.member("updated_at", Timestamp.text(updatedAt))
    }
}

extension JSONText {
    /// Writes a path as text, and also its bytes if it is not UTF-8.
    mutating func path(_ path: RelativePath) {
        member("path", path.description)
        if let bytes = path.base64IfNotUTF8 { member("path_bytes", bytes) }
    }

    /// Writes the error of a file or source.
    mutating func error(_ error: FileError?) {
        guard let error else { return null("error") }
        nested("error") { text in
            text.member("code", error.code)
            text.member("message", error.message)
            text.member("retryable", error.retryable)
        }
    }
}
