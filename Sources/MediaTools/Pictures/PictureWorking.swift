public import LinuxSystem
public import PictureJobs

/// Somebody who measures and draws pictures: the worker process, or one made up for a test.
public protocol PictureWorking: Sendable {
    /// Does one job.
    ///
    /// Cancelling the task gives the answer up; the worker may go on with the job.
    ///
    /// - Parameters:
    ///   - operation: what is to be done.
    ///   - picture: the picture, open for reading; its offset is not used.
    ///   - output: where the result is written, an empty file open for reading and writing; nil with `.measure`.
    ///   - maximumPixels: larger pictures are refused.
    /// - Returns: what is known of the picture itself, not of what was drawn.
    /// - Throws: ``PictureFailure``.
    func perform(
        _ operation: PictureJob.Operation, on picture: SharedDescriptor, into output: SharedDescriptor?,
        maximumPixels: Int
    ) async throws(PictureFailure) -> PictureFacts
}

/// Why a picture could not be measured or drawn.
public enum PictureFailure: Error, Equatable, Sendable {
    /// The picture is to blame; asking again answers the same.
    case refused(PictureRefusal)
    /// The worker died or hung over it: the picture is to blame as long as nothing else is known.
    case killedWorker(String)
    /// There is no worker: no program, no libvips, or it does not start. Nothing the picture could help.
    case unavailable(String)
    /// Nothing the picture could help; it may work another time.
    case failed(String)
    /// The task was cancelled, or the worker shut down.
    case cancelled
}
