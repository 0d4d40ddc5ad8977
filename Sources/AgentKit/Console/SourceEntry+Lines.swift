extension SourceEntry {
    /// How it ended, and where the post can be seen: `done sea 4.8 MB https://…`, or `failed sea: why`.
    public func outcomeLine(_ look: ConsoleLook) -> String {
        let place = isDone ? url.map { " " + DisplayText.escaped($0) } ?? "" : ""
        return asFile.outcomeLine(look) + place
    }

    /// What there is to say beside its path: how many of its files are through, what waits to be submitted, and the title
    /// where it is not the directory's name.
    func remark(_ look: ConsoleLook) -> String {
        var parts = [filesDone]
        if !pending_changes.isEmpty { parts.append(Self.count(pending_changes.count, "pending change")) }
        if !skipped.isEmpty { parts.append("\(skipped.count) skipped") }
        if title != path.split(separator: "/").last.map(String.init) { parts.append(quotedTitle(look)) }
        return parts.joined(separator: ", ")
    }

    /// What may take a line of its own below it: where the post is, and why it is where it is.
    var details: [String] {
        var details: [String] = []
        if let url, isDone { details.append(DisplayText.escaped(url)) }
        if let error { details.append(DisplayText.escaped("\(error.code): \(error.message)")) }
        return details
    }

    /// `2 of 3 files`
    var filesDone: String {
        isDraft || files.isEmpty
            ? Self.count(files.count, "file")
            : "\(files.count { $0.state == "done" }) of \(Self.count(files.count, "file"))"
    }

    func quotedTitle(_ look: ConsoleLook) -> String {
        look.hasUnicode ? "“\(DisplayText.escaped(title))”" : "\"\(DisplayText.escaped(title))\""
    }

    static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}
