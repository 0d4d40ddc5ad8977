import Text
import Hummingbird
import HummingbirdCore

/// A request to the mirror.
struct AvatarQuery: Equatable, Sendable {
    let url: String
    let style: String
    let patience: Duration

    /// Minimum patience. A picture that is stored, or can be drawn from a stored one, arrives within this time, so
    /// that pages do not show placeholders for available pictures.
    private static let least = Duration.milliseconds(100)
    /// Maximum patience in seconds.
    private static let longest = 300

    /// Parses `url`, `style` and `wait`.
    ///
    /// - Throws: `ControlRefusal`.
    init(_ request: Request) throws {
        let parameters = request.uri.queryParameters
        guard let url = parameters.get("url"), !url.isEmpty else {
            throw ControlRefusal(
                .badRequest, AvatarTrouble.malformedURL, "name the picture: ?url=https%3A%2F%2Fexample.org%2F42.jpg")
        }
        self.url = url
        style = parameters.get("style").flatMap { $0.isEmpty ? nil : $0 } ?? "original"
        patience = max(Self.least, .seconds(try Self.seconds(parameters.get("wait"))))
    }

    private static func seconds(_ text: String?) throws -> Int {
        guard let text, !text.isEmpty else { return 0 }
        guard let seconds = Int(text), (0...longest).contains(seconds) else {
            throw ControlRefusal(
                .badRequest, "malformed_wait", "wait must be a number of seconds from 0 to \(longest), not \(text)")
        }
        return seconds
    }

    /// Parses `older_than`; `nil` without this parameter.
    ///
    /// - Throws: `ControlRefusal`.
    static func age(in request: Request) throws -> Duration? {
        guard let text = request.uri.queryParameters.get("older_than"), !text.isEmpty else { return nil }
        guard let age = Duration(written: text) else {
            throw ControlRefusal(
                .badRequest, "malformed_age", "older_than must be a duration such as 12h or 30d, not \(text)")
        }
        return age
    }
}
