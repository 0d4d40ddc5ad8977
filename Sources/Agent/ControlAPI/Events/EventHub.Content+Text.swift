import Reports
import Text
import UploadCore

extension EventHub.Content {
    /// The event's type.
    var name: String {
        switch self {
        case .state: "state"
        case .progress: "progress"
        case .gone: "gone"
        case .source: "source"
        case .sourceGone: "source_gone"
        case .problem: "problem"
        case .portrait: "portrait"
        case .avatar: "avatar"
        }
    }

    /// The event's data as one line of JSON.
    func controlText() -> [UInt8] {
        switch self {
        case .state(let report), .progress(let report): return report.controlText()
        case .source(let report): return report.controlText()
        case .portrait(let text): return text
        case .gone(let path):
            return Self.object { text in
                text.member("id", FileReport.id(of: path))
                text.member("path", path.description)
            }
        case .sourceGone(let id, let directory):
            return Self.object { text in
                text.member("id", id)
                text.member("path", directory.description)
            }
        case .problem(let code, let message):
            return Self.object { text in
                text.member("code", code)
                text.member("message", message)
            }
        case .avatar(let news):
            return Self.object { text in
                text.member("url", news.url)
                text.member("state", news.state.rawValue)
                text.member("code", news.code)
                text.member("message", news.message)
                text.member("until", news.until)
            }
        }
    }

    private static func object(_ body: (inout JSONText) -> Void) -> [UInt8] {
        var text = JSONText(layout: .line)
        text.object(body)
        return text.bytes
    }
}

/// A change to a mirrored picture, for `/v1/events`.
package struct AvatarNews: Equatable, Sendable {
    /// The kinds of changes.
    package enum State: String, Sendable {
        /// The picture was mirrored, for the first time or again. Clients that show the picture should reload it.
        case kept
        /// The picture was removed from the mirror.
        case removed
        /// The picture could not be fetched.
        case failed
    }

    /// The URL of the picture.
    var url: String
    /// The kind of change.
    var state: State
    /// The reason for the failure, a short snake_case word.
    var code: String?
    /// The reason for people, one line.
    var message: String?
    /// Until when the URL is not retried, RFC 3339; `nil` if a retry is possible at once.
    var until: String?

    package init(url: String, state: State, code: String? = nil, message: String? = nil, until: String? = nil) {
        self.url = url
        self.state = state
        self.code = code
        self.message = message
        self.until = until
    }
}
