import Foundation
import Reports

@testable import Console

/// Returns an entry of the control interface; the defaults suit most tests.
func entry(
    _ path: String, _ state: String, size: Int? = 1000, progress: Double = 0, key: String? = nil, speed: Int? = nil,
    eta: Int? = nil, error: String? = nil, finishedAt: String? = nil, pathBytes: [UInt8]? = nil,
    movedFrom: String? = nil, inFlight: Int? = nil, nextAttemptAt: String? = nil, url: String? = nil
) throws -> FileEntry {
    var members: [String: Any] = [
        "id": "id of \(path)", "path": path, "state": state, "progress": progress,
        "remote": ["protocol": "filesection"], "deduplicated": false, "attempts": 1,
        "accepted_at": "2026-11-21T09:30:00.123Z",
    ]
    if let url { members["remote"] = ["protocol": "filesection", "url": url] }
    members["size"] = size
    members["key"] = key
    members["speed"] = speed
    members["eta"] = eta
    members["bytes_in_flight"] = inFlight
    members["next_attempt_at"] = nextAttemptAt
    members["finished_at"] = finishedAt
    members["moved_from"] = movedFrom
    members["path_bytes"] = pathBytes.map { Data($0).base64EncodedString() }
    members["error"] = error.map { ["code": $0, "message": "because of \($0)", "retryable": true] as [String: Any] }
    return try JSONDecoder().decode(FileEntry.self, from: JSONSerialization.data(withJSONObject: members))
}

extension ConsoleLook {
    /// A file or a pipe.
    static let plain = ConsoleLook(isLive: false, hasColours: false, hasUnicode: true, columns: nil)

    /// A terminal without colours.
    static func terminal(_ columns: Int, _ rows: Int = 24, unicode: Bool = true) -> ConsoleLook {
        ConsoleLook(isLive: true, hasColours: false, hasUnicode: unicode, columns: columns, rows: rows)
    }
}
