/// The last line of a program's standard error, in bounded memory.
package struct TextTail: Equatable, Sendable {
    private static let longest = 2048
    private static let longestLine = 300
    private var bytes: [UInt8] = []

    /// Creates an empty tail.
    package init() {}

    /// Appends output.
    package mutating func append(_ more: some Collection<UInt8>) {
        bytes.append(contentsOf: more.suffix(Self.longest))
        if bytes.count > Self.longest { bytes.removeFirst(bytes.count - Self.longest) }
    }

    /// The last non-blank line, with printable characters only; empty if there is none.
    package var lastLine: String {
        let lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        let line = lines.last { $0.contains { $0 > 0x20 } } ?? []
        let text = String(decoding: line, as: UTF8.self).unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        return String(String.UnicodeScalarView(text).prefix(Self.longestLine))
    }
}
