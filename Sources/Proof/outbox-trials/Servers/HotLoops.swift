import EndToEndSupport
import TestSupport

/// Counts the requests of agents whose server keeps failing.
struct HotLoops: Sendable {
    let kind: RemoteKind
    let context: TrialContext

    private var window: Duration { .seconds(context.count(quick: 6, usual: 15, long: 60)) }

    /// Returns the highest number of requests within the window, over servers that fail all requests of 30 files.
    func failing(_ findings: inout Findings) async throws -> Int {
        var faults: [FaultServer.Fault] = [.status(503), .status(429), .status(401), .garbage, .reset, .status(405)]
        // The usual answer of a store to the HEAD before an upload.
        if kind != .s3 { faults.append(.status(404)) }
        if kind == .s3 { faults += [.error(503, code: "SlowDown"), .error(400, code: "ExpiredToken")] }
        return try await most(faults.map { (nil, $0) }, files: 30, limit: 30, &findings)
    }

    /// Returns the highest number of requests within the window, over servers that fail one kind of request for one file,
    /// in a way that concerns this file alone. An attempt takes several requests.
    func failingForOneUpload(_ findings: inout Findings) async throws -> Int {
        let faults: [(String?, FaultServer.Fault)] =
            switch kind {
            case .filesection: [("upload", .status(404)), ("isFinish", .status(404)), ("isFinish", .otherDigest)]
            case .tus:
                [("PATCH", .status(404)), ("PATCH", .status(409)), ("PATCH", .status(423)), ("PATCH", .status(403))]
            case .s3:
                [
                    ("UploadPart", .error(404, code: "NoSuchUpload")),
                    ("UploadPart", .error(403, code: "AccessDenied")),
                    ("UploadPart", .status(409)), ("CompleteMultipartUpload", .error(404, code: "NoSuchUpload")),
                ]
            }
        return try await most(faults, files: 1, limit: 60, &findings)
    }

    /// Checks that `Retry-After` is obeyed: nothing follows the first refusal.
    func asksForPatience(_ findings: inout Findings) async throws {
        let server = try kind.server { _ in .status(503, retryAfter: "600") }
        let agent = try kind.agent(context, of: server.url, ["upload.retry_interval": "1h"])
        try await agent.start()
        try agent.drop("patient.jpg", .jpeg, size: 700_000)
        try await agent.reached("patient.jpg", .waiting)
        let before = server.requestCount
        try await Task.sleep(for: window)
        let more = server.requestCount - before
        findings.expect(before > 0 && more == 0, "\(more) requests in \(window) although Retry-After was 600 s")
    }

    /// - Parameters:
    ///   - faults: the kind of request, or nil for all, and its fault.
    ///   - limit: how many requests are allowed.
    private func most(
        _ faults: [(String?, FaultServer.Fault)], files: Int, limit: Int, _ findings: inout Findings
    ) async throws -> Int {
        let counts = try await withThrowingTaskGroup(of: (String, Int).self) { group in
            for (failing, fault) in faults {
                group.addTask {
                    let server = try kind.server { failing == nil || $0 == failing ? fault : nil }
                    let agent = try kind.agent(context, of: server.url, ["upload.retry_interval": "2m"])
                    try await agent.start()
                    let size = files == 1 ? kind.severalFragments : 700_000
                    for index in 0..<files { try agent.drop("\(index).jpg", .jpeg, size: size) }
                    do {
                        try await Poll.until("a first request") { server.requestCount > 0 }
                    } catch is Poll.TimedOut {}
                    try await Task.sleep(for: window)
                    return ("\(fault)\(failing.map { " on \($0)" } ?? "")", server.requestCount)
                }
            }
            return try await group.reduce(into: [(String, Int)]()) { $0.append($1) }
        }
        for (fault, count) in counts {
            findings.expect(count <= limit, "\(count) requests in \(window) while every answer was \(fault)")
            findings.expect(count > 0, "no request at all while every answer was \(fault)")
        }
        return counts.map(\.1).max() ?? 0
    }
}
