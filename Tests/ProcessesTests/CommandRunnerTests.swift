import Processes
import Testing

@Suite("Running programs of the system")
struct ChildCommandRunnerTests {
    private let runner = ChildCommandRunner(environment: ["PATH": "/nowhere:/usr/bin:/bin", "GREETING": "hello"])

    @Test("both outputs and the status come back")
    func output() {
        #expect(
            runner.run(["sh", "-c", "echo $GREETING; echo oops >&2; exit 3"])
                == CommandOutcome(status: 3, output: "hello\noops\n"))
    }

    @Test("a signal is told from a status")
    func signal() {
        #expect(runner.run(["sh", "-c", "kill -9 $$"])?.status == 137)
    }

    @Test("much output does not block it")
    func much() {
        #expect(runner.run(["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x"])?.output.utf8.count == 300_000)
    }

    @Test("a program that is not there is nil")
    func missing() {
        #expect(runner.run(["no-such-program"]) == nil)
    }
}
