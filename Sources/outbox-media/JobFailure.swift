import PictureJobs

/// Why a job is not done.
enum JobFailure: Error {
    /// The picture is to blame.
    case refused(PictureRefusal)
    /// It is not.
    case failed(String)

    /// The outcome to be answered.
    var outcome: PictureAnswer.Outcome {
        switch self {
        case .refused(let refusal): .refused(refusal)
        case .failed(let reason): .failed(reason)
        }
    }

    /// A refusal.
    static func refused(_ reason: PictureRefusal.Reason, _ message: String) -> JobFailure {
        .refused(PictureRefusal(reason, message))
    }
}
