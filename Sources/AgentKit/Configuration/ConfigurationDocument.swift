internal import TOMLKit

/// The text of an `agent.toml`, parsed, with the lines of its keys.
struct ConfigurationDocument {
    /// A larger file is no configuration.
    static let largestFile = 1 << 20

    let table: TOMLTable
    let lines: KeyLines

    /// Parses a file.
    ///
    /// - Parameter name: the file as errors name it.
    init(_ text: [UInt8], name: String) throws(ConfigurationError) {
        lines = KeyLines(text)
        if let (reason, line) = Self.objection(to: text, lines: lines) {
            throw ConfigurationError(kind: .syntax, origin: .file(name, line: line), key: nil, reason: reason)
        }
        do {
            table = try TOMLTable(string: String(decoding: text, as: UTF8.self))
        } catch let error as TOMLParseError {
            let line = error.source.begin.line
            throw ConfigurationError(
                kind: .syntax, origin: .file(name, line: line > 0 ? line : nil), key: nil,
                reason: "is not TOML: \(Self.oneLine(error.description))")
        } catch {
            throw ConfigurationError(kind: .syntax, origin: .file(name, line: nil), key: nil, reason: "is not TOML")
        }
    }

    /// What keeps a text from the parser: it would read a NUL, raw or escaped, as the end of a string, recurses with
    /// the depth of nesting, and aborts the program at a `[` without a name.
    static func objection(to text: [UInt8], lines: KeyLines? = nil) -> (reason: String, line: Int?)? {
        guard text.count <= largestFile else { return ("is larger than \(Units.spell(UInt64(largestFile)))", nil) }
        guard let string = String(validating: text, as: UTF8.self) else {
            return (
                "is not UTF-8; save it as UTF-8", firstLine(of: text) { String(validating: $0, as: UTF8.self) == nil }
            )
        }
        if string.utf8.contains(0) {
            return ("holds a NUL; remove it", firstLine(of: text) { $0.contains(0) })
        }
        if let escape = ["\\u0000", "\\U00000000"].first(where: { string.contains($0) }) {
            return (
                "holds a NUL (\(escape)); remove it",
                firstLine(of: text) { String(decoding: $0, as: UTF8.self).contains(escape) }
            )
        }
        if let hazard = (lines ?? KeyLines(text)).hazard {
            return (hazard.reason, hazard.line)
        }
        return nil
    }

    private static func firstLine(of text: [UInt8], where isBad: (ArraySlice<UInt8>) -> Bool) -> Int? {
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return lines.firstIndex(where: isBad).map { $0 + 1 }
    }

    /// The parser's messages quote the text, control characters included.
    private static func oneLine(_ message: String) -> String {
        let scalars = message.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
        return String(String.UnicodeScalarView(scalars)).prefix(300).trimmedEnd
    }
}

extension Substring {
    fileprivate var trimmedEnd: String {
        var text = self
        while let last = text.last, last.isWhitespace || last == "." { text.removeLast() }
        return String(text)
    }
}
