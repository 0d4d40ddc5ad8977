import Testing

import AgentConfiguration

@Suite("Agents of this machine")
struct AgentProcessTests {
    private func process(_ words: String...) -> AgentProcess? {
        AgentProcess(
            pid: 7, user: 1000, commandLine: words.map { $0 + "\0" }.joined(),
            cgroup: "0::/system.slice/outbox@ann.service\n")
    }

    @Test("an agent is told by its command line")
    func command() {
        #expect(process("/usr/bin/outbox", "run")?.unit == "outbox@ann")
        #expect(process("outbox", "run", "--config", "/c.toml")?.configuration == "/c.toml")
        #expect(process("outbox", "run", "--log-level", "debug", "--config=/c.toml")?.configuration == "/c.toml")
        #expect(process("outbox", "run", "--config", "c.toml")?.configuration == nil, "its directory is unknown")
        #expect(process("outbox", "run", "--config")?.configuration == nil)
        #expect(process("outbox", "status") == nil)
        #expect(process("outbox") == nil)
        #expect(process("vim", "run") == nil)
        #expect(process("/usr/bin/outbox-receiver", "run") == nil)
        #expect(process() == nil)
    }
}
