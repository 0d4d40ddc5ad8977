import Text
import UploadCore

/// Quotes words for unit files (man 7 systemd.syntax, man 5 systemd.service "COMMAND LINES", man 5 systemd.unit
/// "SPECIFIERS").
///
/// A file name may contain characters that systemd reads as a quote, an escape, a variable, a specifier or a line end.
/// Each place in a unit has its own quoting rules.
enum UnitText {
    /// Quotes a path in a list of paths. A backslash there only makes the next character literal, so a control
    /// character can't be expressed.
    ///
    /// - Parameter prefix: Text before the path, inside the quotes: `-` marks a path that may be missing.
    static func path(_ path: String, prefix: String = "") throws(ServiceError) -> String {
        guard !path.utf8.contains(where: isControl) else {
            throw .inexpressible(path: path, reason: "systemd accepts no path with control characters; rename the file")
        }
        return word(Array((prefix + path).utf8)) { [backslash, quote].contains($0) ? [backslash, $0] : [$0] }
    }

    /// Quotes an argument of a command line.
    static func argument(_ bytes: [UInt8]) -> String {
        word(bytes) { $0 == dollar ? [dollar, dollar] : escaped($0, in: bytes) }
    }

    /// Quotes the program of a command line. systemd expands no variables here, and refuses quotes and backslashes.
    static func program(_ bytes: [UInt8]) throws(ServiceError) -> String {
        guard !bytes.contains(where: { isControl($0) || [backslash, quote, UInt8(ascii: "'")].contains($0) }) else {
            throw .inexpressible(
                path: String(decoding: bytes, as: UTF8.self),
                reason: "systemd starts no program with quotes, backslashes or control characters in its path; install "
                    + "outbox elsewhere")
        }
        return word(bytes) { escaped($0, in: bytes) }
    }

    /// Quotes text for display, such as a description.
    static func prose(_ text: String) -> String {
        DisplayText.escaped(text).replacing("%", with: "%%")
    }

    private static let backslash = UInt8(ascii: "\\")
    private static let quote = UInt8(ascii: "\"")
    private static let dollar = UInt8(ascii: "$")
    private static let percent = UInt8(ascii: "%")
    /// Bytes that need no quotes. The percent sign and the dollar are doubled instead of quoted.
    private static let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@,:=%$~".utf8)

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }

    /// Escapes one byte inside double quotes. A unit file is UTF-8: other bytes of a name are written as `\xNN`.
    private static func escaped(_ byte: UInt8, in whole: [UInt8]) -> [UInt8] {
        if byte == quote || byte == backslash { return [backslash, byte] }
        guard isControl(byte) || byte >= 0x80 && String(validating: whole, as: UTF8.self) == nil else { return [byte] }
        return Array(("\\x" + byte.hexadecimal).utf8)
    }

    private static func word(_ bytes: [UInt8], _ escape: (UInt8) -> [UInt8]) -> String {
        let text = bytes.flatMap { $0 == percent ? [percent, percent] : escape($0) }
        let isPlain = bytes.allSatisfy(plain.contains) && !bytes.isEmpty
        return isPlain ? String(decoding: text, as: UTF8.self) : "\"" + String(decoding: text, as: UTF8.self) + "\""
    }
}
