import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("Hooks", .agents)
struct HooksTests {
    /// An agent with a hook that runs a shell script.
    private struct Stage {
        let server: FaultServer
        let agent: Agent
        /// What the script has received, a line for each outcome.
        var received: [String] { lines("received") }

        init(_ script: String, on events: String = "\"done\"", more: String = "") throws {
            server = try FaultServer()
            agent = try Agent(remote: server.url)
            let program = agent.path("../hook.sh")
            try Data("#!/bin/sh\ncd \"$(dirname \"$0\")\"\n\(script)\n".utf8).write(to: URL(fileURLWithPath: program))
            chmod(program, 0o755)
            agent.appendix = "[[hook]]\nname = \"publish\"\non = [\(events)]\nrun = [\"\(program)\"]\n\(more)\n"
            try agent.configure([:])
        }

        func lines(_ name: String) -> [String] {
            let text = FileManager.default.contents(atPath: agent.path("../\(name)")) ?? Data()
            return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
        }

        /// Waits until this run of the agent has delivered `count` outcomes, and none waits.
        func delivered(_ count: Int) async throws {
            try await Poll.until("\(count) outcomes to be delivered") {
                try await agent.command("hooks").standardOutput.contains("\(count) delivered, 0 waiting")
            }
        }

        func ids(_ lines: [String]) -> [String] {
            lines.compactMap { line in
                (try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["id"] as? String
            }
        }
    }

    @Test("an outcome reaches the program once, with plain surroundings, and again after a kill with the same id")
    func delivered() async throws {
        let stage = try Stage(
            """
            cat > input
            env | cut -d= -f1 | sort | tr '\\n' ' ' > surroundings
            ls /proc/self/fd | wc -l >> surroundings
            cat input >> received
            [ ! -e refuse ]
            """)
        try await stage.agent.start()
        try stage.agent.drop("name\nwith 'quotes'.jpg", .jpeg, size: 2000)
        try await stage.delivered(1)
        #expect(stage.received.count == 1)
        let surroundings = stage.lines("surroundings")
        #expect(surroundings.first?.contains("OUTBOX_EVENT_ID") == true, "\(surroundings)")
        #expect(surroundings.first?.contains("TOKEN") == false)
        // ls has three descriptors, and one of the directory.
        #expect(surroundings.last?.hasSuffix(" 4") == true, "\(surroundings)")
        #expect(stage.received[0].contains(#""path":"name\nwith 'quotes'.jpg""#), "\(stage.received)")

        let refusal = stage.agent.path("../refuse")
        try Data().write(to: URL(fileURLWithPath: refusal))
        try stage.agent.drop("b.jpg", .jpeg, size: 3000)
        try await Poll.until("a failed call") { stage.received.count >= 2 }
        try await stage.agent.kill()
        unlink(refusal)
        let before = stage.received.count
        try await stage.agent.start()
        try await Poll.until("the repetition") { stage.received.count > before }
        let ids = stage.ids(stage.received)
        #expect(Set(ids).count == 2 && Set(ids.dropFirst()).count == 1, "\(ids)")
        try await stage.delivered(1)
        #expect(try await stage.agent.command("hooks", "show", "--json").standardOutput.contains("publish"))
    }

    @Test("a program that hangs or leaves processes behind is ended, and others are not delayed")
    func hanging() async throws {
        let stage = try Stage(
            "cat >> received; sleep 1000 & echo $! > child; echo waiting >&2; sleep 1000", more: "timeout = \"1s\"")
        try await stage.agent.start()
        try stage.agent.drop("a.jpg", .jpeg, size: 2000)
        try await stage.agent.reached("a.jpg", .done)
        try await Poll.until("the failure") {
            try await stage.agent.command("hooks").standardOutput.contains("was killed: waiting")
        }
        let child = try #require(Int32(stage.lines("child").first ?? ""))
        try await Poll.until("the end of what it left behind") { kill(child, 0) != 0 }
        try stage.agent.drop("b.jpg", .jpeg, size: 3000)
        try await stage.agent.reached("b.jpg", .done)
    }

    @Test("a program that writes into the outbox does not call itself for ever")
    func loop() async throws {
        let stage = try Stage(
            """
            cat >> received
            head -c 3000 /dev/urandom >> a.jpg
            name=outbox/$(wc -l < received).jpg
            cp a.jpg $name
            until [ -e $name.outbox.json ]; do sleep 0.1; done
            """)
        let picture = SampleMedia.jpeg.bytes(size: 200_000, seed: 7)
        try Data(picture).write(to: URL(fileURLWithPath: stage.agent.path("../a.jpg")))
        try await stage.agent.start()
        try stage.agent.drop("first.jpg", .jpeg, size: 2500)
        try await Poll.until("the written file to be done") {
            try await stage.agent.command("history", "--json").standardOutput.split(separator: "\n").count >= 2
        }
        try stage.agent.drop("last.jpg", .jpeg, size: 2600)
        try await Poll.until("the last outcome") { stage.received.contains { $0.contains("last.jpg") } }
        #expect(stage.received.count == 2, "\(stage.received)")
    }

    @Test("test sends a made-up outcome, skip gives up what waits, and unknown names are refused")
    func commands() async throws {
        let stage = try Stage("cat >> received; echo not today >&2; exit 1")
        try await stage.agent.start()
        let test = try await stage.agent.command("hooks", "test", "publish")
        #expect(test.code == 1 && test.standardOutput.contains("exit code 1: not today"), "\(test)")
        #expect(stage.received.first?.contains(#""test":true"#) == true)
        try stage.agent.drop("a.jpg", .jpeg, size: 2000)
        try await Poll.until("a failed call") { stage.received.count >= 2 }
        #expect(try await stage.agent.command("hooks", "skip", "publish").code == 0)
        #expect(try await stage.agent.command("hooks").standardOutput.contains("0 waiting"))
        #expect(try await stage.agent.command("hooks", "test", "other").code == 66)
    }

    @Test("a configuration that only lies in the working directory may have no hooks")
    func chance() async throws {
        let stage = try Stage("cat >> received")
        let directory = stage.agent.path("..")
        let output = try await Program.run(
            "outbox", ["config", "check"], environment: ["HOME": directory], directory: directory)
        #expect(output.code == 78, "\(output)")
        #expect(output.standardError.contains("is refused in a file that only lies in the working directory"))
    }
}
