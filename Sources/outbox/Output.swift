import AgentKit
import FoundationEssentials
import Glibc

/// One of the process's outputs.
struct Output: Sendable {
    static let standard = Output(descriptor: STDOUT_FILENO)
    static let error = Output(descriptor: STDERR_FILENO)

    private let descriptor: Int32

    /// Writes a text as it is.
    ///
    /// - Throws: `CommandFailure.system`, for instance when the disk is full.
    func write(_ text: String) throws(CommandFailure) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                let code = errno
                if code == EINTR { continue }
                throw .system("cannot write the output: \(String(cString: strerror(code)))")
            }
            rest = rest.dropFirst(count)
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
