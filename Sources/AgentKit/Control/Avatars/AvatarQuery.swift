import Hummingbird
import HummingbirdCore

/// What a request asks of the mirror.
struct AvatarQuery: Equatable, Sendable {
    let url: String
    let style: String
    let patience: Duration

    /// A picture that is at hand, or can be drawn from one that is, is given after this time at the latest, so that a
    /// page does not show placeholders for what is there.
    private static let least = Duration.milliseconds(100)
    /// The longest time that can be asked for, in seconds.
    private static let longest = 300

    /// Reads `url`, `style` and `wait`.
    ///
    /// - Throws: `ControlRefusal`.
    init(_ request: Request) throws {
        let parameters = request.uri.queryParameters
        guard let url = parameters.get("url"), !url.isEmpty else {
            throw ControlRefusal(
                .badRequest, AvatarTrouble.malformedURL, "say which picture: ?url=https%3A%2F%2Fexample.org%2F42.jpg")
        }
        self.url = url
        style = parameters.get("style").flatMap { $0.isEmpty ? nil : $0 } ?? "original"
        patience = max(Self.least, .seconds(try Self.seconds(parameters.get("wait"))))
    }

    private static func seconds(_ text: String?) throws -> Int {
        guard let text, !text.isEmpty else { return 0 }
        guard let seconds = Int(text), (0...longest).contains(seconds) else {
            throw ControlRefusal(
                .badRequest, "malformed_wait", "wait is a number of seconds from 0 to \(longest), unlike \(text)")
        }
        return seconds
    }

    /// Reads `older_than`; nil where it is not there.
    ///
    /// - Throws: `ControlRefusal`.
    static func age(in request: Request) throws -> Duration? {
        guard let text = request.uri.queryParameters.get("older_than"), !text.isEmpty else { return nil }
        guard let age = Duration(written: text) else {
            throw ControlRefusal(
                .badRequest, "malformed_age", "older_than is a duration like 12h or 30d, unlike \(text)")
        }
        return age
    }
}
