import AgentSupport
import Reports

extension FileEntry {
    /// The outcome: `done beach.jpg 4.8 MB`, or `failed beach.jpg: why`.
    package func outcomeLine(_ look: ConsoleLook) -> String {
        guard isDone else { return stateLine(look) }
        let size = size.map { " " + Quantity.size($0) } ?? ""
        return look.paint(state, colour) + " " + shownPath + size
    }

    /// The current state: `uploading beach.jpg`, or with an error `waiting beach.jpg: why`.
    package func stateLine(_ look: ConsoleLook) -> String {
        let reason = error.map { ": " + DisplayText.escaped($0.message) } ?? ""
        return look.paint(state, colour) + " " + shownPath + reason
    }
}
