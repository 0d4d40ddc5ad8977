/// One step of a style; lengths in pixels.
public enum PictureStep: Hashable, Sendable {
    /// As it came.
    case original
    /// Scaled to cover, and cropped around the centre.
    case rect(width: Int, height: Int)
    /// As `rect`, with rounded corners inside a transparent border. Width and height include the border.
    case round(width: Int, height: Int, radius: Int, border: Int)
}

/// How a picture is drawn: a chain of steps under a name.
public struct PictureStyle: Hashable, Sendable {
    /// What users call it: the text of its one step, or its name in `[avatar_styles]`.
    public let name: String
    /// The steps, in the order they are applied; never empty.
    public let steps: [PictureStep]

    /// The picture as it came.
    public static let original = PictureStyle(.original)

    /// A style of one step, named after it.
    public init(_ step: PictureStep) {
        name = step.description
        steps = [step]
    }

    /// A named chain; nil where it has no steps.
    public init?(name: String, steps: [PictureStep]) {
        if steps.isEmpty { return nil }
        self.name = name
        self.steps = steps
    }

    /// The style a user means: one of the named ones, or a step as `PictureStep` reads it; nil for anything else.
    public init?(_ text: String, named styles: [String: [PictureStep]] = [:]) {
        if let steps = styles[text] {
            self.init(name: text, steps: steps)
        } else if let step = PictureStep(text) {
            self.init(step)
        } else {
            return nil
        }
    }

    /// Whether the picture stays as it came.
    public var isOriginal: Bool { steps.allSatisfy { $0 == .original } }
}
