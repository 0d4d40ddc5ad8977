import AgentConfiguration
import ControlAPI

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
