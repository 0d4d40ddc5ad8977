import FoundationEssentials
import Ledger
public import UploadCore

extension FileReport {
    /// The sidecar's text: one JSON object, a member a line, with a trailing newline (docs/sidecars.md).
    public func sidecarText() -> [UInt8] {
        var text = JSONText(layout: .members)
        text.object { write(into: &$0) }
        return text.bytes + [UInt8(ascii: "\n")]
    }

    /// What the control interface tells of the path: the sidecar's members, `id`, `source` where it belongs to one,
    /// `speed` (bytes a second), `eta` (seconds) and `bytes_in_flight`, on one line.
    public func controlText() -> [UInt8] {
        var text = JSONText(layout: .line)
        text.object { text in
            text.member("id", id)
            write(into: &text)
            if let source { text.member("source", source) }
            if let movedFrom { text.member("moved_from", movedFrom.description) }
            text.member("speed", bytesPerSecond)
            text.member("eta", secondsLeft)
            text.member("bytes_in_flight", bytesInFlight)
        }
        return text.bytes
    }

    /// Pieces of the sidecar's text that tell this outcome from any other.
    var outcome: [String] {
        [
            "\"state\": \"\(state.rawValue)\"",
            "\"finished_at\": \"\(Timestamp.text(finishedAt ?? updatedAt))\"",
        ]
    }

    /// A stable, opaque name of the path, 32 hexadecimal digits.
    public var id: String { Self.id(of: path) }

    /// The stable, opaque name of a path.
    public static func id(of path: RelativePath) -> String { Ledger.identifier(of: path) }

    /// How long the rest takes at the speed of the last seconds; nil where that can't be told.
    public var secondsLeft: UInt64? {
        guard let speed = bytesPerSecond, speed > 0, let size else { return nil }
        return UInt64((1 - shareOnItsWay) * Double(size)) / speed
    }

    /// Whether a text is the sidecar of a file: how our own are told from foreign files.
    ///
    /// A sidecar that went along when its directory was renamed still names the old path, but the same file name.
    static func isSidecar(_ text: [UInt8], of path: RelativePath) -> Bool {
        let opening = beginning(of: .root).dropLast()
        guard text.starts(with: opening) else { return false }
        // A path holds no line feed as it is: JSON escapes it.
        let line = text.dropFirst(opening.count).prefix { $0 != UInt8(ascii: "\n") }.dropLast()
        let name = [UInt8(ascii: "/")] + beginning(of: RelativePath.root.appending(path.name)).dropFirst(opening.count)
        return line.elementsEqual(beginning(of: path).dropFirst(opening.count)) || line.elementsEqual(name.dropFirst())
            || line.suffix(name.count).elementsEqual(name)
    }

    /// What the sidecar of a path begins with, whatever it goes on to say.
    private static func beginning(of path: RelativePath) -> [UInt8] {
        var text = JSONText(layout: .members)
        text.object { writeHead(path, into: &$0) }
        return text.bytes.dropLast(2)
    }

    private static func writeHead(_ path: RelativePath, into text: inout JSONText) {
        text.member("version", 1)
        text.member("path", path.description)
    }

    private func write(into text: inout JSONText) {
        Self.writeHead(path, into: &text)
        if !path.isUTF8 { text.member("path_bytes", Data(path.bytes).base64EncodedString()) }
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
        text.member("deduplicated", deduplicated)
        text.member("attempts", attempts)
        writeTimes(into: &text)
    }

    private func writeTimes(into text: inout JSONText) {
        text.member("next_attempt_at", nextAttemptAt.map(Timestamp.text))
        text.error(error)
        text.member("accepted_at", Timestamp.text(acceptedAt))
        text.member("started_at", startedAt.map(Timestamp.text))
        text.member("finished_at", finishedAt.map(Timestamp.text))
        text.member("updated_at", Timestamp.text(updatedAt))
    }

    /// Its progress as it is told.
    var shownProgress: Double { Self.shown(progress, isDone: state == .done) }

    /// Four decimals, rounded down, and below 1 until the server confirmed.
    static func shown(_ progress: Double, isDone: Bool) -> Double {
        isDone ? 1 : min((progress * 10_000).rounded(.down) / 10_000, 0.9999)
    }
}

extension JSONText {
    /// A path as text, and its bytes where it is not UTF-8.
    mutating func path(_ path: RelativePath) {
        member("path", path.description)
        if !path.isUTF8 { member("path_bytes", Data(path.bytes).base64EncodedString()) }
    }

    /// Why something is where it is.
    mutating func error(_ error: FileError?) {
        guard let error else { return null("error") }
        nested("error") { text in
            text.member("code", error.code)
            text.member("message", error.message)
            text.member("retryable", error.retryable)
        }
    }
}
