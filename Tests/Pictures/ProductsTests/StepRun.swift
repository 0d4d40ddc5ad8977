import Foundation
import LinuxSystem
import Products
import TestSupport
import UploadCore

/// A step performed on a file, as the agent performs it.
struct StepRun {
    let outcome: StepOutcome
    /// What the step wrote; nil if the content is unchanged.
    let product: Data?

    /// Performs a step on a file, whose type is that of its first bytes. On a busy machine exiftool may need its longer
    /// time limit.
    ///
    /// - Throws: ``ProductFailure``.
    init(
        _ step: any ProductStep, on path: String, progress: @escaping @Sendable (Double) -> Void = { _ in }
    ) async throws {
        let directory = try TemporaryDirectory()
        defer { directory.close() }
        let prefix = try FileHandle(forReadingFrom: URL(filePath: path)).read(upToCount: MediaSignatures.prefixLength)
        let file = try SharedDescriptor(opening: path, flags: O_RDONLY)
        let input = ProductInput(
            file: file, type: MediaSignatures.sniff([UInt8](prefix ?? Data())) ?? .other,
            size: UInt64(try FileStatus(of: file.rawValue).size), isSlow: true)
        let scratch = directory.path("scratch")
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: false)
        let result = directory.path("result")
        let output = try SharedDescriptor(opening: result, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        outcome = try await step.perform(on: input, into: output, scratch: scratch, progress: progress)
        product = outcome == .unchanged ? nil : try Data(contentsOf: URL(filePath: result))
    }
}
