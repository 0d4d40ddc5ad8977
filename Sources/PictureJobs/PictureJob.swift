/// A request of the agent to the picture worker: one packet of `PictureWire`. The packet carries descriptors, never
/// names (man 7 unix, SCM_RIGHTS). The first is the picture, open for reading. If the job writes anything, the second
/// is an empty file, open for reading and writing.
public struct PictureJob: Codable, Equatable, Sendable {
    /// What the worker does.
    public enum Operation: Codable, Equatable, Sendable {
        /// Read only the header; write nothing.
        case measure
        /// Write a square JPEG of this side, cropped around the centre.
        case thumbnail(side: Int, quality: Int)
        /// Write a PNG drawn by these steps, in the spelling of `PictureStep`.
        case draw(steps: [String])
        /// Write a JPEG of the whole picture, upright and without metadata; quality 1…100.
        case encode(quality: Int)
    }

    /// Matches replies to jobs; the agent increments it.
    public var id: UInt64
    /// What the worker does.
    public var operation: Operation
    /// The largest number of pixels. The worker refuses larger pictures before decoding.
    public var maximumPixels: Int

    /// Creates a job.
    public init(id: UInt64, operation: Operation, maximumPixels: Int) {
        self.id = id
        self.operation = operation
        self.maximumPixels = maximumPixels
    }
}

/// The picture worker's answer to a job: one packet of JSON.
public struct PictureAnswer: Codable, Equatable, Sendable {
    /// The result of a job.
    public enum Outcome: Codable, Equatable, Sendable {
        /// The job is done, and its output is written.
        case done(PictureFacts)
        /// The picture is damaged, too large, or of an unsupported format. Another attempt gives the same answer.
        case refused(PictureRefusal)
        /// The job failed through no fault of the picture: the output could not be written, or memory ran out.
        case failed(String)
    }

    /// The job's id.
    public var id: UInt64
    /// The result of the job.
    public var outcome: Outcome

    /// Creates an answer.
    public init(id: UInt64, outcome: Outcome) {
        self.id = id
        self.outcome = outcome
    }
}

/// The size of a picture.
public struct PictureFacts: Codable, Equatable, Sendable {
    /// The width in pixels, after rotation to upright.
    public var width: Int
    /// The height in pixels, after rotation to upright.
    public var height: Int

    /// Creates facts.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}

/// Why the worker refused a picture.
public struct PictureRefusal: Codable, Error, Equatable, Sendable {
    /// Classes of refusal.
    public enum Reason: String, Codable, Sendable {
        /// The first bytes match no supported format.
        case notAPicture = "not_a_picture"
        /// The picture has more pixels than allowed.
        case tooManyPixels = "too_many_pixels"
        /// The picture can't be decoded completely.
        case damaged
    }

    /// The class of the refusal.
    public var reason: Reason
    /// The reason for people, in one line.
    public var message: String

    /// Creates a refusal.
    public init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}
