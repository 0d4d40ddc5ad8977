import LinuxSystem
import ControlAPI
import HTTPTypes
import Transport
import URLs

extension DashboardFacts {
    /// Asks the dashboard of a running agent for its health.
    ///
    /// - Returns: nil if the agent serves no dashboard. A busy port is a problem of the agent itself.
    static func probe(stateDirectory: String, version: String) async -> DashboardFacts? {
        let limit = Duration.seconds(10)
        let file = DashboardURLFile(state: stateDirectory)
        guard let url = await TimeLimit.run("doctor-dashboard", limit, { file.read() }) ?? nil,
            let slash = url.lastIndex(of: "/"), let origin = WebOrigin(url), let parts = WebURL(url)
        else { return nil }
        let address = "http://\(parts.authority.text)"
        var request = TransportRequest(method: .get, url: address + "/v1/health")
        request.credentialsOrigin = origin
        do {
            try request.headers.add("Authorization", "Bearer \(url[url.index(after: slash)...])")
            let transport = try CurlTransport(
                configuration: .init(
                    connectTimeout: limit, stallTimeout: limit, replyTimeout: limit, userAgent: "outbox/\(version)"))
            let question = request
            let answer = await TimeLimit.wait(limit) { () -> Answer in
                do throws(TransportError) {
                    let status = try await transport.send(question).status
                    return status == 200 ? .healthy : .status(status)
                } catch {
                    return .failed("\(error)")
                }
            }
            // Wait for libcurl's thread: if the program exited at the same time, both would free OpenSSL's data.
            _ = await TimeLimit.run("question-end", .seconds(2)) { transport.shutdown() }
            return DashboardFacts(address: address, answer: answer ?? .failed("nothing came within 10 s"))
        } catch {
            return DashboardFacts(address: address, answer: .failed("\(error)"))
        }
    }
}
