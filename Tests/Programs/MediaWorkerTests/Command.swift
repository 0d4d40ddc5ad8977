import Foundation

/// A program that has ended. Standard error goes to `errors`, or by default to the standard error of the tests.
struct Command {
    let code: Int32
    let bytes: [UInt8]
    var output: String { String(decoding: bytes, as: UTF8.self) }

    static func run(_ path: String, _ arguments: [String], errors: FileHandle? = nil) throws -> Command {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        if let errors { process.standardError = errors }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = [UInt8](try output.fileHandleForReading.readToEnd() ?? Data())
        process.waitUntilExit()
        return Command(code: process.terminationStatus, bytes: bytes)
    }
}
