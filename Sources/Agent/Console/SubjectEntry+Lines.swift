import Text
package import Reports

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
