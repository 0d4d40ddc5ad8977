import AgentConfiguration
import ArgumentParser
import ControlAPI
import Glibc
import Reports
import SystemPackage

struct DashboardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dashboard",
        abstract: "Print or open the address of the dashboard.",
        discussion: """
            The address contains a secret, which is new each time the agent starts. Whoever has it can see and steer \
            the uploads, so keep it to yourself. The page works on this machine only.

            Examples:
              outbox dashboard
              outbox dashboard --open
              ssh -t ann@camera outbox dashboard

            Exit status:
              0   the address is printed, or the browser was started
              69  no agent is running, it serves no dashboard, or no browser can be started
            """)

    @OptionGroup var common: CommonOptions

    @Flag(help: "Open the page in your browser instead of printing its address.")
    var open = false

    @Flag(help: "Print a JSON object: {\"url\": \"…\"}.")
    var json = false

    func validate() throws {
        if open && json { throw ValidationError("give either --open or --json") }
    }

    func run() async throws {
        let link = try AgentLink(common)
        // A killed agent leaves the file with the address.
        let health = try await link.client.health()
        guard let url = link.dashboard.read() else {
            let reason = health.attention?.first { $0.code == "dashboard" }?.message
            let off = "control.dashboard is \"\", so the agent serves no dashboard"
            let starting = "the dashboard is starting; try again in a moment"
            throw CommandFailure.unavailable(
                reason ?? (link.configuration.control.dashboard.isEmpty ? off : starting))
        }
        if open { try openBrowser(url, link) }
        if json { return try Output.standard.write(json: ["url": url]) }
        try Output.standard.write(lines: [url])
    }

    private func openBrowser(_ url: String, _ link: AgentLink) throws -> Never {
        let page: String
        do throws(Errno) {
            page = try link.dashboard.writePage(leadingTo: url)
        } catch {
            throw CommandFailure.system("cannot write the page that leads to the dashboard: \(error)")
        }
        // man 3 exec: this process becomes the opener, which may be the browser itself.
        let arguments = [strdup("xdg-open"), strdup(page), nil]
        execvp("xdg-open", arguments)
        throw CommandFailure.unavailable(
            "no browser can be started (xdg-open: \(Errno(rawValue: errno))); open the address that `outbox dashboard` prints"
        )
    }
}
