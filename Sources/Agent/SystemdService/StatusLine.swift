import Text
package import UploadCore

/// The agent's state in one line, as `systemctl status` shows it.
package struct StatusLine: Sendable {
    /// Number of uploads by state. A state without uploads may be missing.
    var counts: [FileState: Int] = [:]
    /// Total upload speed.
    var bytesPerSecond: UInt64 = 0
    /// Whether everything is paused until `resume --all`.
    var isPaused = false
    /// Problems that stop uploads, most important first.
    var problems: [String] = []

    package init(
        counts: [FileState: Int] = [:], bytesPerSecond: UInt64 = 0, isPaused: Bool = false, problems: [String] = []
    ) {
        self.counts = counts
        self.bytesPerSecond = bytesPerSecond
        self.isPaused = isPaused
        self.problems = problems
    }

    /// Active states first, then waiting states, then failed.
    private static let order: [FileState] = [
        .uploading, .verifying, .processing, .hashing, .settling, .queued, .waiting, .paused, .signedOut, .failed,
    ]

    /// For example `3 uploading, 12 waiting; 2.1 MB/s`, or the first problem.
    package var text: String {
        let states = Self.order.compactMap { state -> String? in
            guard let count = counts[state], count > 0 else { return nil }
            return Self.grouped(count) + " " + state.rawValue.replacingUnderscores
        }
        var line = states.isEmpty ? "nothing to do" : states.joined(separator: ", ")
        if bytesPerSecond > 0 { line += "; " + Quantity.speed(bytesPerSecond) }
        if isPaused { line = "paused; " + line }
        return problems.first.map { $0 + "; " + line } ?? line
    }

    /// Formats `1024` as `1,024`.
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
