import Glibc
package import LinuxSystem
package import MediaTools
import SystemPackage
package import UploadCore

/// Removes all positions, or all metadata, from a picture or video, without encoding anything anew. A file that still has
/// some afterwards, or that can't be read, is refused.
///
/// The system's exiftool reads each file, removes positions from pictures, and reads each result again. Positions in
/// videos, and in files within files, are overwritten in place, so that no other byte moves. Where that can't be sure, ffmpeg
/// first copies pictures and sound to a new file (``VideoRebuild``).
package struct LocationRemover: ProductStep {
    private let tool: ExifTool?
    private let program: String?
    private let tools: VideoTools
    private let removal: Recipe.Removal

    /// Creates a remover.
    ///
    /// - Parameters:
    ///   - program: Absolute path of exiftool; nil if missing.
    ///   - directory: Absolute path of a directory for pictures at work, which belongs to this value alone. Its parent
    ///     must exist. All files in it are removed.
    ///   - tools: ffmpeg.
    ///   - removal: What is removed.
    package init(program: String?, directory: String, tools: VideoTools, removal: Recipe.Removal) {
        (self.tools, self.removal) = (tools, removal)
        self.program = program
        tool = program.map { ExifTool(program: $0, directory: directory) }
    }

    /// Searches for exiftool.
    ///
    /// - Parameter path: Directories separated by colons, as in `PATH`; nil: the usual directories. Relative ones are
    ///   ignored.
    /// - Returns: Its absolute path; nil if missing.
    package static func findProgram(in path: String?) -> String? {
        (path ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").filter { $0.hasPrefix("/") }
            .map { "\($0)/exiftool" }.first { access($0, X_OK) == 0 }
    }

    package var missing: String? {
        program == nil
            ? "no \(removal == .positions ? "location" : "metadata") can be removed, so pictures and videos are not sent: "
                + "exiftool is not in the PATH; "
                + "install libimage-exiftool-perl" : nil
    }

    package func perform(
        on input: ProductInput, into output: SharedDescriptor, scratch: String,
        progress: @escaping @Sendable (Double) -> Void
    ) async throws(ProductFailure) -> StepOutcome {
        guard let tool, let program else { throw .missing("exiftool is not installed") }
        let cancellation = Cancellation()
        return try await cancelling(cancellation) { () async throws(ProductFailure) -> StepOutcome in
            switch input.type.kind {
            case .image:
                return try await tool.perform(cancellation) { session, directory throws(ProductFailure) in
                    let file = PictureLocations(
                        input: input, output: output, removal: removal, session: session, directory: directory,
                        cancellation: cancellation)
                    return try file.remove()
                }
            case .video:
                let rebuild = VideoRebuild(input: input, output: output, tools: tools, removal: removal)
                let rebuilt = rebuild.isNeeded ? try await rebuild.run() : input
                return try await onOwnThread { () throws(ProductFailure) in
                    let file = VideoLocations(
                        input: rebuilt, output: output, isBare: removal != .positions, program: program,
                        scratch: scratch, cancellation: cancellation)
                    return try file.remove(progress: progress)
                }
            case .other:
                throw .refused("the file is neither a picture nor a video, so positions in it can't be found")
            }
        }
    }

    private func cancelling(
        _ cancellation: Cancellation, _ work: () async throws(ProductFailure) -> StepOutcome
    ) async throws(ProductFailure) -> StepOutcome {
        let result = await withTaskCancellationHandler {
            do throws(ProductFailure) {
                return Result<StepOutcome, ProductFailure>.success(try await work())
            } catch {
                return .failure(error)
            }
        } onCancel: {
            cancellation.cancel()
        }
        return try result.get()
    }

    /// Runs blocking work.
    private func onOwnThread(
        _ work: @escaping @Sendable () throws(ProductFailure) -> StepOutcome
    ) async throws(ProductFailure) -> StepOutcome {
        let result = await withCheckedContinuation { continuation in
            startThread(name: "location") {
                continuation.resume(returning: Result { () throws(ProductFailure) in try work() })
            }
        }
        return try result.get()
    }
}
