/// A request of the agent to the picture worker: one packet of `PictureWire`. The packet carries descriptors, never
/// names (man 7 unix, SCM_RIGHTS). The first is the picture, open for reading. If the job writes anything, the second
/// is an empty file, open for reading and writing.
public struct PictureJob: Equatable, PicturePacket {
    /// What the worker does.
    public enum Operation: Equatable, Sendable {
        /// Read only the header; write nothing.
        case measure
        /// Write a square JPEG of this side, cropped around the centre.
        case thumbnail(side: Int, quality: Int)
        /// Write a PNG drawn by these steps, in the spelling of `PictureStep`.
        case draw(steps: [String])
        /// Write a JPEG of the whole picture, upright and without metadata; quality 1…100.
        case encode(quality: Int)
        /// Write a JPEG of the whole picture with its metadata, no side over `maximumSide` (0: any size). The worker
        /// writes nothing if a JPEG can't hold all that the picture shows: transparency, several pictures, or a
        /// wider range of brightness.
        case compress(quality: Int, maximumSide: Int)
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

    /// Id, pixels, and the operation with its arguments.
    public var fields: [String] { ["\(id)", "\(maximumPixels)"] + operation.fields }

    /// Creates the packet from its lines; see ``PicturePacket``.
    public init?(fields: [String]) {
        guard fields.count >= 3, let id = UInt64(fields[0]), let pixels = Int(fields[1]),
            let operation = Operation(name: fields[2], arguments: Array(fields[3...]))
        else { return nil }
        self.init(id: id, operation: operation, maximumPixels: pixels)
    }
}

extension PictureJob.Operation {
    fileprivate var fields: [String] {
        switch self {
        case .measure: ["measure"]
        case .thumbnail(let side, let quality): ["thumbnail", "\(side)", "\(quality)"]
        case .draw(let steps): ["draw"] + steps
        case .encode(let quality): ["encode", "\(quality)"]
        case .compress(let quality, let side): ["compress", "\(quality)", "\(side)"]
        }
    }

    fileprivate init?(name: String, arguments: [String]) {
        let numbers = arguments.compactMap { Int($0) }
        switch (name, arguments.count) {
        case ("measure", 0): self = .measure
        case ("thumbnail", 2) where numbers.count == 2: self = .thumbnail(side: numbers[0], quality: numbers[1])
        case ("draw", _): self = .draw(steps: arguments)
        case ("encode", 1) where numbers.count == 1: self = .encode(quality: numbers[0])
        case ("compress", 2) where numbers.count == 2: self = .compress(quality: numbers[0], maximumSide: numbers[1])
        default: return nil
        }
    }
}

/// The picture worker's answer to a job: one packet of `PictureWire`.
public struct PictureAnswer: Equatable, PicturePacket {
    /// The result of a job.
    public enum Outcome: Equatable, Sendable {
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

    /// Id, and the outcome with its details. A text for people comes last.
    public var fields: [String] {
        switch outcome {
        case .done(let facts): ["\(id)", "done", "\(facts.width)", "\(facts.height)"]
        case .refused(let refusal): ["\(id)", "refused", refusal.reason.rawValue, refusal.message]
        case .failed(let reason): ["\(id)", "failed", reason]
        }
    }

    /// Creates the packet from its lines; see ``PicturePacket``.
    public init?(fields: [String]) {
        guard fields.count >= 3, let id = UInt64(fields[0]) else { return nil }
        switch (fields[1], fields.count) {
        case ("done", 4):
            guard let width = Int(fields[2]), let height = Int(fields[3]) else { return nil }
            self.init(id: id, outcome: .done(PictureFacts(width: width, height: height)))
        case ("refused", 4...):
            guard let reason = PictureRefusal.Reason(rawValue: fields[2]) else { return nil }
            self.init(id: id, outcome: .refused(PictureRefusal(reason, Self.text(fields[3...]))))
        case ("failed", _):
            self.init(id: id, outcome: .failed(Self.text(fields[2...])))
        default: return nil
        }
    }

    private static func text(_ lines: ArraySlice<String>) -> String { lines.joined(separator: "\n") }
}

/// The size of a picture.
public struct PictureFacts: Equatable, Sendable {
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
public struct PictureRefusal: Error, Equatable, Sendable {
    /// Classes of refusal.
    public enum Reason: String, Sendable {
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
