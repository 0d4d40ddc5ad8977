import AgentSupport
import ArgumentParser
import Doctor

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for what keeps files from being uploaded, and say what to do.",
        discussion: """
            Checks the configuration, the token, the directories and their disks, the limits on watching, the server \
            with its certificate and credentials, the clock, and the service. It changes nothing, and takes half a minute \
            at the worst. Each finding is a line: what was looked at, what was found, what to do.

            Ends with 1 when something would stop uploads, else with 0.

            Examples:
              outbox doctor
              outbox doctor --config ~/camera.toml
              outbox doctor --json | jq -r '.findings[] | select(.level == "stop") | .remedy'
            """)

    @OptionGroup var common: CommonOptions

    @Flag(help: "Print a JSON object: {\"ok\": …, \"findings\": [{\"check\", \"level\", \"message\", \"remedy\"}]}.")
    var json = false

    func run() async throws {
        let surroundings = Surroundings()
        let effective = try common.effectiveConfiguration(in: surroundings)
        let doctor = Doctor(
            effective: effective, environment: surroundings.environment, home: surroundings.home,
            version: AgentVersion.current)
        let report = await doctor.examine()
        if json {
            try Output.standard.write(json: report)
        } else {
            try Output.standard.write(lines: report.lines(Output.standard.look(surroundings.environment)))
        }
        guard report.isOK else { throw CommandFailure.answerIsNo }
    }
}
