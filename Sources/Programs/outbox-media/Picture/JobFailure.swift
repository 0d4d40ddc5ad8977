import PictureJobs

/// Why a job failed.
enum JobFailure: Error {
    /// The picture is at fault.
    case refused(PictureRefusal)
    /// The picture is not at fault.
    case failed(String)

    /// The outcome to send.
    var outcome: PictureAnswer.Outcome {
        switch self {
        case .refused(let refusal): .refused(refusal)
        case .failed(let reason): .failed(reason)
        }
    }

    /// Creates a refusal.
    static func refused(_ reason: PictureRefusal.Reason, _ message: String) -> JobFailure {
        .refused(PictureRefusal(reason, message))
    }
}
