import AgentConfiguration
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
