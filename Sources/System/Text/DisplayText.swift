import LinuxSystem

/// Makes text safe for a terminal or a log, and measures its width in columns.
package enum DisplayText {
    /// Escapes all characters that could move the cursor, change colours or reverse the writing direction.
    ///
    /// A file may be named `\u{1B}[2J`: the terminal must show the name and not execute it.
    package static func escaped(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            case _ where isUnsafe(scalar): result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        // Joiners and tags are part of emoji and of several scripts. All other format characters change the direction
        // of the following text, or are invisible.
        case .format: return !isJoinerOrTag(scalar)
        default: return false
        }
    }

    private static func isJoinerOrTag(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value == 0x200C || scalar.value == 0x200D || (0xE0020...0xE007F).contains(scalar.value)
    }

    /// Returns the number of terminal columns a text takes. Escape sequences that only set colours count as 0.
    package static func width(_ text: String) -> Int {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text.utf8.count }
        var width = 0
        var isInSequence = false
        for character in text {
            if character == "\u{1B}" { isInSequence = true }
            if !isInSequence { width += CharacterWidth.columns(of: character) }
            if character == "m" { isInSequence = false }
        }
        return width
    }

    /// Cuts a text to at most `width` columns, with an ellipsis in the middle: files differ both in the begin of their
    /// path and in the end of their name.
    ///
    /// - Parameters:
    ///   - text: Must not contain control characters or colours.
    ///   - width: Columns; 0 gives an empty text.
    ///   - ellipsis: Replaces the omitted part.
    package static func truncated(_ text: String, to width: Int, ellipsis: String = "…") -> String {
        guard Self.width(text) > width else { return text }
        let room = width - Self.width(ellipsis)
        guard room > 0 else { return head(of: text, width: max(0, width)) }
        return head(of: text, width: room / 2) + ellipsis + tail(of: text, width: room - room / 2)
    }

    /// Wraps a text at its spaces into lines of at most `width` columns. A longer word gets a line of its own.
    ///
    /// - Parameter text: Must not contain control characters or colours.
    package static func lines(of text: String, width: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, Self.width(last) + 1 + Self.width(String(word)) <= width {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }

    /// Pads the text with spaces to `width` columns.
    package static func padded(_ text: String, to width: Int, right: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, width - Self.width(text)))
        return right ? blanks + text : text + blanks
    }

    private static func head(of text: String, width: Int) -> String {
        String(fitting(text, width: width))
    }

    private static func tail(of text: String, width: Int) -> String {
        String(fitting(text.reversed(), width: width).reversed())
    }

    private static func fitting(_ characters: some Sequence<Character>, width: Int) -> [Character] {
        var room = width
        return Array(
            characters.prefix { character in
                room -= CharacterWidth.columns(of: character)
                return room >= 0
            })
    }
}

/// Number of terminal columns of a character.
private enum CharacterWidth {
    /// Wide and full-width characters by Unicode Standard Annex 11. The ranges include unassigned code points. Emoji
    /// drawn as pictures are recognized by their properties instead.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
        0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DF2,
        0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x2FFFD, 0x30000...0x3FFFD,
    ]

    /// Requests the picture instead of the text symbol (Unicode Technical Standard 51).
    private static let emojiSelector: Unicode.Scalar = "\u{FE0F}"

    static func columns(of character: Character) -> Int {
        if let ascii = character.asciiValue { return ascii < 0x20 || ascii == 0x7F ? 0 : 1 }
        let scalars = character.unicodeScalars
        if scalars.contains(where: { isWide($0) || $0 == emojiSelector }) { return 2 }
        return scalars.allSatisfy(isCombining) ? 0 : 1
    }

    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value >= 0x1100 else { return false }
        return scalar.properties.isEmojiPresentation || wide.contains { $0.contains(scalar.value) }
    }

    private static func isCombining(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: true
        default: false
        }
    }
}

/// Permission bits in messages.
package enum FileMode {
    /// Formats permission bits as chmod(1) takes them: `0700`.
    package static func shown(_ permissions: UInt32) -> String {
        let digits = String(permissions & 0o7777, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }
}

/// Names of users in messages.
package enum UserName {
    /// Returns `the user anna`, or `user id 1042` if the user database has no name.
    package static func shown(_ user: UInt32) -> String {
        ServiceAccount(userID: user).map { "the user \(DisplayText.escaped($0.name))" } ?? "user id \(user)"
    }
}
