import Reports
import Text
import UploadCore

extension SourceEntry {
    /// What happens next to the post after it was submitted.
    var prospect: String {
        let path = typedPath
        switch FileState(rawValue: state) {
        case .paused: return "the post is paused; run `outbox resume \(path)`"
        case .signedOut:
            return "the post waits: the server refuses the credentials; run `outbox login`, or correct the access keys"
        case .waiting:
            let reason = error.map { ": " + DisplayText.escaped($0.message) } ?? ""
            return "the post waits for its next attempt\(reason); `outbox retry \(path)` tries at once"
        default:
            return "the agent takes the post once nothing in it changed for 2 s; `outbox wait \(path)` waits for it"
        }
    }

    /// The remark beside the path: number of files done, pending changes, skipped files, and the title if it differs
    /// from the directory's name.
    func remark(_ look: ConsoleLook) -> String {
        var parts = [filesDone]
        if !pending_changes.isEmpty { parts.append(Quantity.count(pending_changes.count, "pending change")) }
        if !skipped.isEmpty { parts.append("\(skipped.count) skipped") }
        if title != path.split(separator: "/").last.map(String.init) { parts.append(quotedTitle(look)) }
        return parts.joined(separator: ", ")
    }

    /// Details on lines of their own below the source: the post's URL, and the error.
    var details: [String] {
        var details: [String] = []
        if let url, isDone { details.append(DisplayText.escaped(url)) }
        if let error { details.append(DisplayText.escaped("\(error.code): \(error.message)")) }
        return details
    }

    /// `2 of 3 files`
    var filesDone: String {
        isDraft || files.isEmpty
            ? Quantity.count(files.count, "file")
            : "\(files.count { $0.state == "done" }) of \(Quantity.count(files.count, "file"))"
    }

    func quotedTitle(_ look: ConsoleLook) -> String {
        look.hasUnicode ? "“\(DisplayText.escaped(title))”" : "\"\(DisplayText.escaped(title))\""
    }
}

extension SourceEntry {
    /// Whether the source is a draft, which is not uploaded until it is submitted.
    package var isDraft: Bool { state == SourceState.draft.word }

    /// The directory, quoted for a command line.
    package var typedPath: String { ShellWord.text(path) }
}
