import EndToEndSupport
import Foundation
import TestSupport

/// A client of the dashboard's address, with curl: it sends any header field, and keeps nothing by itself.
struct Browser {
    struct Reply: CustomStringConvertible {
        var status: Int
        var head: String
        var body: String

        var description: String { "\(head)\n\n\(body)" }

        /// Returns the value of a field of the head; nil without it.
        func field(_ name: String) -> String? {
            head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
                .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
        }
    }

    /// The secret URL.
    let url: String
    /// `http://127.0.0.1:PORT`
    let base: String
    /// The cookie as the browser sends it; nil before the secret URL is opened.
    var cookie: String?

    var port: String { String(base.split(separator: ":").last ?? "") }
    var secret: String { String(url.split(separator: "/").last ?? "") }

    /// Waits until the agent's dashboard listens.
    init(_ agent: Agent) async throws {
        url = try await Poll.value("the dashboard's URL", lastState: { agent.log }) {
            let text = try? String(contentsOfFile: "\(agent.state)/dashboard-url", encoding: .utf8)
            return text.flatMap { $0.hasSuffix("\n") ? String($0.dropLast()) : nil }
        }
        base = url.components(separatedBy: "/open/")[0]
    }

    /// A browser that has opened the secret URL.
    static func inside(_ agent: Agent) async throws -> Browser {
        var browser = try await Browser(agent)
        let reply = try await browser.ask("GET", "/open/\(browser.secret)")
        browser.cookie = reply.field("Set-Cookie").map { String($0.prefix { $0 != ";" }) }
        return browser
    }

    /// Sends a request and returns the reply.
    ///
    /// - Parameters:
    ///   - fields: header fields, such as `Host: evil.org`.
    ///   - file: the path of a file to send as the body.
    ///   - options: further arguments of curl.
    func ask(
        _ method: String, _ target: String, fields: [String] = [], file: String? = nil, options: [String] = []
    ) async throws -> Reply {
        let cookies = cookie.map { ["Cookie: \($0)"] } ?? []
        let body = file.map { ["--data-binary", "@\($0)", "-H", "Content-Type: application/octet-stream"] } ?? []
        let arguments =
            ["-sS", "-i", "-X", method, "-H", "Expect:"] + (cookies + fields).flatMap { ["-H", $0] } + body + options
        let output = try await Program.run(
            "/usr/bin/curl", arguments + [base + target], environment: [:], directory: "/tmp", timeout: .seconds(60))
        let parts = output.standardOutput.split(separator: "\r\n\r\n", maxSplits: 1)
        let head = String(parts.first ?? "")
        guard let status = head.split(separator: " ").dropFirst().first.flatMap({ Int($0.prefix(3)) }) else {
            throw Surprise("no reply to \(method) \(target): \(output)")
        }
        return Reply(status: status, head: head, body: parts.count > 1 ? String(parts[1]) : "")
    }
}
