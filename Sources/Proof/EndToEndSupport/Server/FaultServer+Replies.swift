import TestSupport

/// A fault of the requests of one kind about one content. All others are answered as usual.
package struct Refusal: Equatable, Sendable {
    /// The MD5 of the content.
    package var key: String
    /// The kind of request, by the name that the server gives it.
    package var request: String
    package var fault: FaultServer.Fault

    package init(of key: String, at request: String, _ fault: FaultServer.Fault) {
        (self.key, self.request, self.fault) = (key, request, fault)
    }

    /// Returns the fault of a request; nil if it is about another content.
    func fault(of request: String, about contents: [String]) -> FaultServer.Fault? {
        self.request == request && contents.contains(key) ? fault : nil
    }
}

extension FaultServer.Fault {
    /// Whether the request takes effect before the fault.
    var followsEffect: Bool { self == .lostReply || self == .truncated }

    /// Returns the reply of a fault that servers of all protocols know; nil for all others, and if the request must take
    /// effect first.
    ///
    /// - Parameter refusal: makes the server's own reply to a refused request, from its status, S3's code and more header
    ///   fields.
    func reply(
        refusal: (_ status: Int, _ code: String, _ fields: [(String, String)]) -> ScriptedServer.Reply
    ) -> ScriptedServer.Reply? {
        switch self {
        case .status(let status, let retryAfter):
            return refusal(status, "Status\(status)", retryAfter.map { [("Retry-After", $0)] } ?? [])
        case .error(let status, let code): return refusal(status, code, [])
        case .garbage: return .response(status: 200, headers: [], body: [0x7B, 0xFF, 0x00, 0x22, 0x7D])
        case .html:
            return Self.page("<!DOCTYPE html><html><body>Please sign in to this network</body></html>", status: 200)
        case .page(let status):
            let title = "\(status) another server's page"
            return Self.page("<html>\r\n<head><title>\(title)</title></head>\r\n</html>\r\n", status: status)
        case .tooLong:
            let text = "{\"code\":200,\"message\":\"" + String(repeating: "x", count: 1_100_000) + "\",\"data\":{}}"
            return .json(text)
        case .redirect(let place): return .response(status: 302, headers: [("Location", place)], body: [])
        case .reset: return .reset
        case .hang: return .hang
        case .bodyCode, .assembling, .assemblyFailedFor, .otherDigest, .notFoundForSeveral, .lostReply,
            .truncated:
            return nil
        }
    }

    private static func page(_ text: String, status: Int) -> ScriptedServer.Reply {
        .response(status: status, headers: [("Content-Type", "text/html")], body: Array(text.utf8))
    }

    /// Returns the end of a request that took effect: its reply, or what is left of it.
    func ending(of reply: ScriptedServer.Reply) -> ScriptedServer.Reply {
        switch (self, reply) {
        case (.lostReply, _): return .close
        case (.truncated, .response(let status, _, let body)):
            return .truncated(status: status, promised: body.count, body: Array(body.prefix(5)))
        default: return reply
        }
    }
}
