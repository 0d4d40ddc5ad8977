import FoundationEssentials
package import Reports
import Text
package import UploadCore

extension SubjectEntry {
    /// Whether the state is final until the user acts. An unknown state of a newer agent is not final.
    package var isFinal: Bool { State(word: state)?.isFinal ?? false }

    /// Whether the server confirmed the file or post.
    package var isDone: Bool { state == FileState.done.rawValue }

    /// Whether the user removed the unfinished file, or dismissed the failed one.
    var isSettledByUser: Bool {
        state == FileState.cancelled.rawValue && ["removed", "dismissed"].contains(error?.code)
    }

    /// The path, escaped for display.
    package var shownPath: String { DisplayText.escaped(path) }

    /// The path where a file was dropped. Callers waiting for the file look for this path.
    package var droppedPath: RelativePath? {
        moved_from.flatMap { RelativePath(shown: $0) ?? RelativePath($0) } ?? relativePath
    }

    /// Whether the subject is, or was dropped, in a directory or below it.
    package func isWithin(_ directory: RelativePath) -> Bool {
        [relativePath, droppedPath].contains { $0?.isWithin(directory) ?? false }
    }

    /// Share of the bytes to show, 0…1: `progress` plus the bytes in flight that the server already received.
    var shareOnItsWay: Double {
        guard let bytes_in_flight, let knownSize, knownSize > 0 else { return progress }
        return min(progress + Double(bytes_in_flight) / Double(knownSize), 1)
    }

    /// When the next attempt is due, for display: `retry in 48 s`; nil if none is due.
    ///
    /// - Parameter now: Milliseconds since 1970.
    func retryText(now: Int64) -> String? {
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard state == FileState.waiting.rawValue, let due = next_attempt_at.flatMap({ try? format.parse($0) }) else {
            return nil
        }
        let seconds = min(due.timeIntervalSince1970 - Double(now) / 1000, 1e9).rounded(.up)
        return seconds < 1 ? "retry now" : "retry in " + Quantity.duration(seconds: UInt64(seconds))
    }

    /// The share a bar shows: while the file is hashed, of the hashed bytes, afterwards of the sent bytes.
    var shownShare: Double {
        guard state == FileState.hashing.rawValue, let hashed, let knownSize, knownSize > 0 else {
            return shareOnItsWay
        }
        return min(Double(hashed) / Double(knownSize), 1)
    }

    /// How urgently the subject needs the user's attention, 0 most urgently; nil if it needs none. `status` lists these
    /// subjects first, with the reason.
    var attention: Int? {
        switch FileState(rawValue: state) {
        case .failed: 0
        case .signedOut: 1
        case .waiting: 2
        case .rejected: 3
        default: nil
        }
    }

    /// The colour of the state.
    var colour: Colour? {
        switch FileState(rawValue: state) {
        case .done: .green
        case .failed, .rejected: .red
        case .waiting, .signedOut, .paused: .yellow
        case .uploading, .verifying: .cyan
        case .processing, .hashing, .settling, .queued: .blue
        case .cancelled, nil: .dim
        }
    }
}

extension SubjectEntry {
    /// The outcome: `done beach.jpg 4.8 MB https://…`, without a URL if the server gave none, or `failed beach.jpg: why`.
    package func outcomeLine(_ look: ConsoleLook) -> String {
        guard isDone else { return stateLine(look) }
        let size = knownSize.map { " " + Quantity.size($0) } ?? ""
        let page = page.map { " " + DisplayText.escaped($0) } ?? ""
        return look.paint(state, colour) + " " + shownPath + size + page
    }

    /// The current state: `uploading beach.jpg`, or with an error `waiting beach.jpg: why`.
    package func stateLine(_ look: ConsoleLook) -> String {
        let reason = error.map { ": " + DisplayText.escaped($0.message) } ?? ""
        return look.paint(state, colour) + " " + shownPath + reason
    }
}
