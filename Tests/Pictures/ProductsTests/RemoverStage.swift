import Foundation
import MediaTestSupport
import MediaTools
import Products
import TestSupport
import Testing
import UploadCore

extension MediaFiles {
    static let tools = VideoTools.find(in: ProcessInfo.processInfo.environment["PATH"])
}

/// A remover with a directory of its own.
struct RemoverStage {
    let directory: TemporaryDirectory
    let remover: LocationRemover

    init(program: String? = LocationFiles.exiftool, _ removal: Recipe.Removal = .positions) throws {
        directory = try TemporaryDirectory()
        remover = LocationRemover(
            program: program, directory: directory.path("exiftool"), tools: MediaFiles.tools, removal: removal)
    }

    /// Performs the step; the reason if it refuses the file.
    func refusal(of path: String) async throws -> String? {
        do {
            _ = try await StepRun(remover, on: path)
            return nil
        } catch ProductFailure.refused(let reason) {
            return reason
        }
    }
}
