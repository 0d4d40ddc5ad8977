import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Limits of the process", .agents)
struct ProcessLimitTests {
    private func ending(_ agent: Agent) async throws -> (Program.Ending?, String) {
        try agent.launch()
        try await agent.program?.wait()
        return (agent.program?.ending, agent.log)
    }

    @Test("too little address space ends the agent with 71, naming the limit", arguments: [3 << 18, 1 << 19, 1 << 18])
    func tooLittleAddressSpace(_ kibibytes: Int) async throws {
        let agent = try Agent(remote: "http://127.0.0.1:1")
        agent.launcher = ["/usr/bin/prlimit", "--as=\(kibibytes * 1024)"]
        let (ending, log) = try await ending(agent)
        #expect(ending == .exited(71), "\(log)")
        #expect(log.contains("`ulimit -v` is \(kibibytes) KiB"), "\(log)")
    }

    @Test("with little address space, the agent maps a smaller ledger and uploads", arguments: [1200, 2048, 3072])
    func littleAddressSpace(_ mebibytes: Int) async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        agent.launcher = ["/usr/bin/prlimit", "--as=\(mebibytes << 20)"]
        try await agent.start()
        for number in 0..<20 { try agent.drop("\(number).jpg", .jpeg, size: 1_500_000) }
        for number in 0..<20 { try await agent.reached("\(number).jpg", .done) }
    }

    @Test(
        "too few processes end the agent with 71, naming the limit",
        .enabled(if: geteuid() == 0, "root alone can become a user who has no other processes"), arguments: [4, 10, 25])
    func tooFewThreads(_ limit: Int) async throws {
        let agent = try Agent(remote: "http://127.0.0.1:1")
        let user = 65_000 + limit
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: agent.directory.path)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: agent.outbox)
        agent.launcher = [
            "/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--inh-caps=-all", "--",
            "/usr/bin/prlimit", "--nproc=\(limit)",
        ]
        let (ending, log) = try await ending(agent)
        #expect(ending == .exited(71), "\(log)")
        #expect(log.contains("`ulimit -u` is \(limit)"), "\(log)")
    }
}
