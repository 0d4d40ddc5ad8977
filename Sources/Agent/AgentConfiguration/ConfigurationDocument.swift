import Text
internal import TOMLKit

/// The parsed text of an `agent.toml`, with the line of each key.
package struct ConfigurationDocument {
    /// Maximum size in bytes.
    static let largestFile = 1 << 20

    let table: TOMLTable
    package let lines: KeyLines

    /// The values at the top of the document by key.
    package var values: [(key: String, value: SettingValue)] {
        table.keys.compactMap { key in table[key].map { (key, SettingValue($0)) } }
    }

    /// Parses a file.
    ///
    /// - Parameter name: the file's name in error messages.
    package init(_ text: [UInt8], name: String) throws(ConfigurationError) {
        lines = KeyLines(text)
        if let (reason, line) = Self.objection(to: text, lines: lines) {
            throw ConfigurationError(kind: .syntax, origin: .file(name, line: line), key: nil, reason: reason)
        }
        do {
            table = try TOMLTable(string: String(decoding: text, as: UTF8.self))
        } catch let error as TOMLParseError {
            let line = error.source.begin.line
            let reason = Self.unquotedText(in: text, line: line) ?? Self.oneLine(error.description)
            throw ConfigurationError(
                kind: .syntax, origin: .file(name, line: line > 0 ? line : nil), key: nil,
                reason: "is not TOML: \(reason)")
        } catch {
            throw ConfigurationError(kind: .syntax, origin: .file(name, line: nil), key: nil, reason: "is not TOML")
        }
    }

    /// Finds input that would break the parser. The parser reads a NUL, raw or escaped, as the end of a string. It
    /// recurses with the depth of nesting, and aborts the program at a `[` without a name.
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

    /// Suggests quotes if a line that the parser rejects contains an unquoted string; `nil` if the line has another
    /// problem.
    private static func unquotedText(in text: [UInt8], line: Int) -> String? {
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.indices.contains(line - 1) else { return nil }
        let parts = String(decoding: lines[line - 1], as: UTF8.self).split(separator: "=", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        let key = parts[0].split(whereSeparator: \.isWhitespace).joined(separator: " ")
        // A comment begins at a # after white space. A # within a URL belongs to the URL.
        let value = parts[1].split(whereSeparator: \.isWhitespace).prefix { !$0.hasPrefix("#") }.joined(separator: " ")
        guard let first = value.first, !"\"'[{".contains(first), !value.contains("\""), !key.isEmpty,
            value.contains(where: { !"0123456789+-_.:".contains($0) }), !["true", "false"].contains(value)
        else { return nil }
        if ["yes", "no", "on", "off", "true", "false"].contains(value.lowercased()) {
            return "write \(key.shortened) = true or \(key.shortened) = false"
        }
        return "a string must be in quotes: write \(key.shortened) = \(value.shortened.quoted)"
    }

    private static func firstLine(of text: [UInt8], where isBad: (ArraySlice<UInt8>) -> Bool) -> Int? {
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return lines.firstIndex(where: isBad).map { $0 + 1 }
    }

    /// Removes control characters from a parser message, which quotes the text verbatim.
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
