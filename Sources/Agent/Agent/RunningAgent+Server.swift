import AgentConfiguration
import ControlAPI
import Doctor
import Logging

extension RunningAgent {
    /// Logs whether the server is reachable, so that a wrong address shows before the first file is dropped.
    ///
    /// Connects without sending anything, which every server tolerates.
    func sayWhetherServerAnswers() async {
        guard let facts = await ServerProbe.connection(to: configuration.remote), !Task.isCancelled else { return }
        let server: Logger.MetadataValue = "\(configuration.remote.url)"
        for finding in facts.findings {
            var metadata: Logger.Metadata = ["server": server, "reason": "\(finding.message)"]
            if let remedy = finding.remedy { metadata["remedy"] = "\(remedy)" }
            switch finding.level {
            case .ok where finding.check == .connection:
                let metadata: Logger.Metadata = ["server": server, "connection": "\(finding.message)"]
                logger.info("the server can be reached", metadata: metadata)
            case .ok: break
            case _ where facts.isConnected: logger.warning("the server has a problem", metadata: metadata)
            default: logger.warning("the server can't be reached now; uploads wait for it", metadata: metadata)
            }
        }
    }
}

extension RunningAgent {
    /// Returns what the control interface needs to serve the dashboard; nil if the configuration wants none.
    func dashboard() -> Dashboard? {
        // A killed agent leaves the URL of its dashboard.
        DashboardURLFile(state: configuration.state).remove()
        return DashboardAddress(configuration.control.dashboard).map { address in
            Dashboard(
                address: address, state: configuration.state,
                metricsTokenFile: configuration.control.metricsTokenFile
            ) { [uploader] message in
                uploader.run { $0.status.problems[.dashboard] = message }
            }
        }
    }
}
