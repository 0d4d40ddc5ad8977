package import AgentConfiguration
import HTTPTypes
package import Logging
import Synchronization
package import Transport

/// Sends an address a sign of life, or the problems of the agent. If nothing comes, the agent hangs.
package final class Heartbeat: Sendable {
    private static let patience = Duration.seconds(20)

    private let url: String
    /// The time between two of them.
    package let every: Duration
    private let transport: any HTTPTransport
    private let logger: Logger
    private let hasFailed = Mutex(false)

    /// - Returns: nil if the configuration wants none.
    package init?(_ configuration: Configuration.Heartbeat, transport: any HTTPTransport, logger: Logger) {
        guard let url = configuration.url else { return nil }
        (self.url, every, self.transport, self.logger) = (url, configuration.every, transport, logger)
    }

    /// Sends one.
    ///
    /// - Parameter problems: what needs a person, one item a line; empty if all is well.
    package func send(problems: [String]) {
        let timeouts = TransportRequest.Timeouts(
            connect: Self.patience, stall: Self.patience, reply: Self.patience)
        let base = url.hasSuffix("/") ? String(url.dropLast()) : url
        let request =
            problems.isEmpty
            ? TransportRequest(method: .get, url: url, timeouts: timeouts)
            : TransportRequest(
                method: .post, url: base + "/fail", headers: [.contentType: "text/plain; charset=utf-8"],
                body: .bytes(Array(problems.joined(separator: "\n").utf8)), timeouts: timeouts)
        Task {
            do throws(TransportError) {
                let status = try await transport.send(request).status
                note((200..<300).contains(status) ? nil : "status \(status)")
            } catch {
                note("\(error)")
            }
        }
    }

    private func note(_ failure: String?) {
        let isNews = hasFailed.withLock { hasFailed in
            defer { hasFailed = failure != nil }
            return hasFailed != (failure != nil)
        }
        guard isNews else { return }
        if let failure {
            logger.warning("the heartbeat can't be sent", metadata: ["url": "\(url)", "reason": "\(failure)"])
        } else {
            logger.notice("the heartbeat is sent again", metadata: ["url": "\(url)"])
        }
    }
}
