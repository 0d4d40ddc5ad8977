/// One step of a style. Lengths are in pixels.
public enum PictureStep: Hashable, Sendable {
    /// The unchanged picture.
    case original
    /// Scale the picture to cover the area, and crop around the centre.
    case rect(width: Int, height: Int)
    /// Like `rect`, with rounded corners inside a transparent border. Width and height include the border.
    case round(width: Int, height: Int, radius: Int, border: Int)
}

/// A named chain of drawing steps.
public struct PictureStyle: Hashable, Sendable {
    /// The style's name for users: the text of its only step, or its name in `[avatar_styles]`.
    public let name: String
    /// The steps in the order of application; never empty.
    public let steps: [PictureStep]

    /// The style for the unchanged picture.
    public static let original = PictureStyle(.original)

    /// Creates a style of one step, named after the step.
    public init(_ step: PictureStep) {
        name = step.description
        steps = [step]
    }

    /// Creates a named chain; nil if there are no steps.
    public init?(name: String, steps: [PictureStep]) {
        if steps.isEmpty { return nil }
        self.name = name
        self.steps = steps
    }

    /// Finds the style that a user names: a named style, or a step that `PictureStep` can parse; nil for anything else.
    public init?(_ text: String, named styles: [String: [PictureStep]] = [:]) {
        if let steps = styles[text] {
            self.init(name: text, steps: steps)
        } else if let step = PictureStep(text) {
            self.init(step)
        } else {
            return nil
        }
    }

    /// Whether the style leaves the picture unchanged.
    public var isOriginal: Bool { steps.allSatisfy { $0 == .original } }
}
