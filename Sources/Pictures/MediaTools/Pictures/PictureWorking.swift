public import LinuxSystem
public import PictureJobs

/// Measures and draws pictures: the worker process, or a test's own implementation.
public protocol PictureWorking: Sendable {
    /// Performs one job.
    ///
    /// Cancelling the task gives up the answer; the worker may finish the job.
    ///
    /// - Parameters:
    ///   - operation: The operation.
    ///   - picture: The picture, open for reading; its offset is not used.
    ///   - output: An empty file for the result, open for reading and writing; nil for `.measure`.
    ///   - maximumPixels: Larger pictures are refused.
    /// - Returns: Facts about the source picture, not about the result.
    /// - Throws: ``PictureFailure``.
    func perform(
        _ operation: PictureJob.Operation, on picture: SharedDescriptor, into output: SharedDescriptor?,
        maximumPixels: Int
    ) async throws(PictureFailure) -> PictureFacts
}

/// Why a picture could not be measured or drawn.
public enum PictureFailure: Error, Equatable, Sendable {
    /// The picture is at fault; a retry gives the same answer.
    case refused(PictureRefusal)
    /// The worker died or hung over the picture, which counts as the picture's fault unless the cause is known.
    case killedWorker(String)
    /// No worker is available: no program, no libvips, or the start failed. Not the picture's fault.
    case unavailable(String)
    /// Not the picture's fault; a retry may succeed.
    case failed(String)
    /// The task was cancelled, or the worker shut down.
    case cancelled
}
