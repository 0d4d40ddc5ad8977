import Dispatch
import Foundation
import Glibc

/// An exiftool process that writes the tags of one file after the other (man 1 exiftool, -stay_open): a start takes
/// longer than ten files.
///
/// Deinit ends the process.
final class TagWriter: @unchecked Sendable {
    // `@unchecked`: `queue` guards the process and its pipes.
    private let queue = DispatchQueue(label: "exiftool")
    private let process = Process()
    private let commands = Pipe()
    private let answers = Pipe()

    init(program: String) {
        process.executableURL = URL(fileURLWithPath: program)
        // Without `-config ""` exiftool would run the Perl code of ~/.ExifTool_config.
        process.arguments = ["-config", "", "-stay_open", "True", "-@", "-"]
        process.standardInput = commands
        process.standardOutput = answers
        process.standardError = answers
    }

    // Not SIGTERM, which the process inherits as blocked. Without input exiftool goes on waiting.
    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// Performs a command.
    ///
    /// - Parameter arguments: Must not contain line breaks.
    /// - Throws: ``MediaFiles/Trouble`` if exiftool reports an error.
    func run(_ arguments: [String]) async throws {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try self.perform(arguments) }) }
        }
    }

    private func perform(_ arguments: [String]) throws {
        if !process.isRunning { try process.run() }
        let lines = ["-echo3", "status ${status}"] + arguments + ["-execute1"]
        try commands.fileHandleForWriting.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
        var answer = Data()
        while answer.range(of: Data("{ready1}\n".utf8)) == nil {
            let piece = answers.fileHandleForReading.availableData
            if piece.isEmpty { break }
            answer += piece
        }
        let text = String(decoding: answer, as: UTF8.self)
        guard text.contains("status 0\n") else { throw MediaFiles.Trouble(description: "\(arguments): \(text)") }
    }
}
