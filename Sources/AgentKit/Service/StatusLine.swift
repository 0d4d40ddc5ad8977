import UploadCore

/// How the agent is, in one line: what `systemctl status` shows.
struct StatusLine: Sendable {
    /// Number of uploads by state; states with none may be missing.
    var counts: [FileState: Int] = [:]
    /// Over all uploads.
    var bytesPerSecond: UInt64 = 0
    /// Everything is held until `resume --all`.
    var isPaused = false
    /// What keeps uploads from going on, the most important first.
    var problems: [String] = []

    /// What goes on comes before what waits, and that before what went wrong.
    private static let order: [FileState] = [
        .uploading, .verifying, .hashing, .settling, .queued, .waiting, .paused, .signedOut, .failed,
    ]

    /// For instance `3 uploading, 12 waiting; 2.1 MB/s`, or the first problem.
    var text: String {
        let states = Self.order.compactMap { state -> String? in
            guard let count = counts[state], count > 0 else { return nil }
            return Self.grouped(count) + " " + state.rawValue.replacingUnderscores
        }
        var line = states.isEmpty ? "nothing to do" : states.joined(separator: ", ")
        if bytesPerSecond > 0 { line += "; " + Quantity.speed(bytesPerSecond) }
        if isPaused { line = "paused; " + line }
        return problems.first.map { $0 + "; " + line } ?? line
    }

    /// `1024` as `1,024`.
    private static func grouped(_ number: Int) -> String {
        let digits = Array(String(number))
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }
}

extension String {
    fileprivate var replacingUnderscores: String { String(map { $0 == "_" ? " " : $0 }) }
}
