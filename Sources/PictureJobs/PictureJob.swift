/// What the agent asks of the picture worker: one packet of `PictureWire`, with the picture, open for
/// reading, as its first descriptor and, where there is something to be written, an empty file, open for reading and
/// writing, as its second (man 7 unix, SCM_RIGHTS). Never a name.
public struct PictureJob: Codable, Equatable, Sendable {
    /// What is to be done.
    public enum Operation: Codable, Equatable, Sendable {
        /// Only the header is read; nothing is written.
        case measure
        /// A square JPEG of this side, cropped around the centre.
        case thumbnail(side: Int, quality: Int)
        /// A PNG drawn by these steps, as `PictureStep` spells them.
        case draw(steps: [String])
        /// A JPEG of the whole picture, upright and without metadata; quality 1…100.
        case encode(quality: Int)
    }

    /// Tells replies apart; the agent counts it up.
    public var id: UInt64
    /// What is to be done.
    public var operation: Operation
    /// Pictures with more pixels are refused before anything is decoded.
    public var maximumPixels: Int

    /// A job.
    public init(id: UInt64, operation: Operation, maximumPixels: Int) {
        self.id = id
        self.operation = operation
        self.maximumPixels = maximumPixels
    }
}

/// What the picture worker answers: one packet of JSON for each job.
public struct PictureAnswer: Codable, Equatable, Sendable {
    /// How it went.
    public enum Outcome: Codable, Equatable, Sendable {
        /// The job is done; what was to be written is written.
        case done(PictureFacts)
        /// The picture is not taken: it is damaged, too large, or of another kind. Asking again answers the same.
        case refused(PictureRefusal)
        /// The job failed and the picture is not to blame: the output could not be written, memory ran out.
        case failed(String)
    }

    /// The job's id.
    public var id: UInt64
    /// How it went.
    public var outcome: Outcome

    /// An answer.
    public init(id: UInt64, outcome: Outcome) {
        self.id = id
        self.outcome = outcome
    }
}

/// What is known of a picture.
public struct PictureFacts: Codable, Equatable, Sendable {
    /// Width in pixels once it is upright.
    public var width: Int
    /// Height in pixels once it is upright.
    public var height: Int

    /// Facts.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}

/// Why a picture is not taken.
public struct PictureRefusal: Codable, Error, Equatable, Sendable {
    /// Classes of refusal.
    public enum Reason: String, Codable, Sendable {
        /// Not one of the formats that are taken, told by its first bytes.
        case notAPicture = "not_a_picture"
        /// More pixels than allowed.
        case tooManyPixels = "too_many_pixels"
        /// It can't be decoded from beginning to end.
        case damaged
    }

    /// The class.
    public var reason: Reason
    /// For people, one line.
    public var message: String

    /// A refusal.
    public init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}
