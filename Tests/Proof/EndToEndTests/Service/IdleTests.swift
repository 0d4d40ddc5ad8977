import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("An idle agent")
struct IdleTests {
    /// How often each thread of a process gave up its processor (man 5 proc_pid_status, voluntary_ctxt_switches).
    /// A thread that ends meanwhile is left out.
    private func sleeps(of process: Int32) throws -> [String: String] {
        var sleeps: [String: String] = [:]
        let directory = "/proc/\(process)/task"
        for thread in try FileManager.default.contentsOfDirectory(atPath: directory) {
            let status = try? String(contentsOfFile: "\(directory)/\(thread)/status", encoding: .utf8)
            sleeps[thread] = status?.split(separator: "\n").first { $0.hasPrefix("voluntary") }.map(String.init)
        }
        return sleeps
    }

    @Test("sleeps, with a file uploaded before")
    func sleeps() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        _ = try agent.drop("a.jpg", .jpeg, size: 4096)
        try await agent.reached("a.jpg", .done)
        let process = try #require(agent.program?.pid)
        // Until upkeep after the start is over, something may still wake it.
        try await Poll.until("an agent that nothing wakes for 3 s") {
            let before = try sleeps(of: process)
            try await Task.sleep(for: .seconds(3))
            return try sleeps(of: process) == before
        }
        #expect(try await agent.stop() == .exited(0))
    }
}
