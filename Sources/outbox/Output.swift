import AgentKit
import FoundationEssentials
import Glibc
import LinuxSystem
import SystemPackage

/// One of the process's outputs.
struct Output: Sendable {
    static let standard = Output(descriptor: STDOUT_FILENO)
    static let error = Output(descriptor: STDERR_FILENO)

    private let descriptor: Int32

    /// Writes a text as it is.
    ///
    /// - Throws: `CommandFailure.system`, for instance when the disk is full.
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

    /// Writes a line where nobody could be told that it did not work.
    func attempt(_ line: String) {
        try? write(line + "\n")
    }

    /// What can be shown there, by the terminal's size now.
    func look(_ environment: [String: String]) -> ConsoleLook {
        ConsoleLook(of: descriptor, environment: environment)
    }
}
