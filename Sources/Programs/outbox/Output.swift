import Console
import FoundationEssentials
import Glibc
import LinuxSystem
import SystemPackage

/// An output of the process.
struct Output: Sendable {
    static let standard = Output(descriptor: STDOUT_FILENO)
    static let error = Output(descriptor: STDERR_FILENO)

    private let descriptor: Int32

    /// Writes a text unchanged.
    ///
    /// - Throws: `CommandFailure.system`, for example if the disk is full.
    func write(_ text: String) throws(CommandFailure) {
        do throws(Errno) {
            try writeAll(Array(text.utf8), to: descriptor)
        } catch {
            throw .system("cannot write the output: \(error)")
        }
    }

    /// Writes lines.
    func write(lines: [String]) throws(CommandFailure) {
        if !lines.isEmpty { try write(lines.joined(separator: "\n") + "\n") }
    }

    /// Writes a value as one JSON object with a line feed.
    func write(json value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        try write(String(decoding: try encoder.encode(value), as: UTF8.self) + "\n")
    }

    /// Writes a line and ignores errors, because nobody could read a report about them.
    func attempt(_ line: String) {
        try? write(line + "\n")
    }

    /// The capabilities of the output, with the terminal's current size.
    func look(_ environment: [String: String]) -> ConsoleLook {
        ConsoleLook(of: descriptor, environment: environment)
    }
}
