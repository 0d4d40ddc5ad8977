import Hummingbird
import Ledger
import Text
import UploadCore

extension JournalQuery {
    /// Outcomes of one answer, unless the client wants fewer.
    private static let most = 1000

    /// Reads the parameters of `GET /v1/history`: `name` (several times), `since`, `until`, `state`, `before`, `limit`.
    ///
    /// - Throws: `ControlRefusal` for a malformed one.
    init(_ request: Request) throws {
        let parameters = request.uri.queryParameters
        self.init(names: parameters.getAll("name").filter { !$0.isEmpty }, limit: 100)
        since = try Self.time("since", request)
        until = try Self.time("until", request)
        if let words = parameters.get("state"), !words.isEmpty {
            outcomes = try Self.outcomes(words)
        }
        before = try Self.number("before", request)
        limit = try Self.number("limit", request).map { Int(min($0, UInt64(Self.most))) } ?? limit
    }

    private static func time(_ name: String, _ request: Request) throws -> WallTime? {
        guard let text = request.uri.queryParameters.get(name), !text.isEmpty else { return nil }
        guard let time = Timestamp.time(text) else {
            throw ControlRefusal(
                .badRequest, "malformed_time", "\(text) is not a time; write 2026-11-01 or 2026-11-01T09:30:00Z")
        }
        return time
    }

    private static func number(_ name: String, _ request: Request) throws -> UInt64? {
        guard let text = request.uri.queryParameters.get(name), !text.isEmpty else { return nil }
        // The id of a row ends in its number.
        guard let number = UInt64(text.split(separator: "-").last ?? "") else {
            throw ControlRefusal(.badRequest, "malformed_number", "\(name)=\(text) is not a number")
        }
        return number
    }

    private static func outcomes(_ words: String) throws -> Set<JournalRow.Outcome> {
        Set(
            try words.split(separator: ",").map { word in
                guard let outcome = JournalRow.Outcome(word: String(word)) else {
                    throw ControlRefusal(.badRequest, "unknown_state", "unknown state \(word)")
                }
                return outcome
            })
    }
}
