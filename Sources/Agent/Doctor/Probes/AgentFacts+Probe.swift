import AgentConfiguration
import LinuxSystem
import ControlAPI
import Reports
import UploadCore

extension AgentFacts {
    /// Asks the agent for its health, and the kernel for the holder of its lock.
    static func probe(_ configuration: Configuration, environment: [String: String]) async -> AgentFacts {
        let socket = configuration.controlSocket(runtimeDirectory: environment["XDG_RUNTIME_DIR"])
        let state = configuration.state
        let answer = await TimeLimit.wait(.seconds(10)) { () -> Answer in
            do throws(ControlError) {
                return .healthy(try await ControlClient(socket: socket, stateDirectory: state).health())
            } catch {
                if case .notRunning = error { return .notRunning }
                if case .notTrusted = error { return .foreign("\(error)") }
                if case .refused(_, let reason) = error { return .hindered(reason) }
                return .failed("\(error)")
            }
        }
        let holder = await TimeLimit.run("doctor-lock", .seconds(10)) { AgentProcess.holder(ofState: state) }
        var facts = AgentFacts(socket: socket, answer: answer ?? .late, lockHolder: holder ?? nil)
        if case .healthy(let health) = facts.answer, health.files?[FileState.failed.rawValue] ?? 0 > 0 {
            let client = ControlClient(socket: socket, stateDirectory: state)
            let query = ListQuery<FileState>(states: [.failed], atMost: mostFailed)
            let list = await TimeLimit.wait(.seconds(10)) { try? await client.entries(query) as EntryList<FileEntry> }
            if let list = list ?? nil {
                facts.failed = (list.entries, list.counts?[FileState.failed.rawValue] ?? list.entries.count)
            }
        }
        return facts
    }

    /// Maximum number of failed files to read: enough to find one that can't be read.
    private static let mostFailed = 500
}
