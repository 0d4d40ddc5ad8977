import ArgumentParser
import Doctor
import Versions

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find what prevents uploads, and say what to do about it.",
        discussion: """
            Checks the configuration, the token, the directories and their disks, the watch limits, the server with \
            its certificate and credentials, the clock, and the service. It leaves nothing behind and takes half a minute at \
            most. Each line names the check, what was found and what to do.

            Exit status: 1 if something would stop uploads, otherwise 0.

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
            version: ProgramVersion.current)
        let report = await doctor.examine()
        if json {
            try Output.standard.write(json: report)
        } else {
            try Output.standard.write(lines: report.lines(Output.standard.look(surroundings.environment)))
        }
        guard report.isOK else { throw CommandFailure.answerIsNo }
    }
}
