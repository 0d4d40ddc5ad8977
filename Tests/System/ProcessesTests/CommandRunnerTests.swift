import Processes
import Testing

@Suite("Running programs of the system")
struct ChildCommandRunnerTests {
    private let runner = ChildCommandRunner(environment: ["PATH": "/nowhere:/usr/bin:/bin", "GREETING": "hello"])

    @Test("returns both outputs and the status")
    func output() {
        #expect(
            runner.run(["sh", "-c", "echo $GREETING; echo oops >&2; exit 3"])
                == CommandOutcome(status: 3, output: "hello\noops\n"))
    }

    @Test("distinguishes a signal from a status")
    func signal() {
        #expect(runner.run(["sh", "-c", "kill -9 $$"])?.status == 137)
    }

    @Test("does not block on much output")
    func much() {
        #expect(runner.run(["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x"])?.output.utf8.count == 300_000)
    }

    @Test("returns nil for a missing program")
    func missing() {
        #expect(runner.run(["no-such-program"]) == nil)
    }
}
