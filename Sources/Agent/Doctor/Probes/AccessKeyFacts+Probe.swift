import AgentConfiguration
import Remotes
import Session

extension AccessKeyFacts {
    /// Searches for the keys in the same place as the agent.
    init(probing remote: Configuration.Remote, environment: [String: String]) {
        let search = AccessKeySearch(remote, environment: environment)
        source = search.source
        do throws(AccessKeyProblem) {
            areTemporary = try search.find().sessionToken != nil
        } catch {
            problem = "\(error)"
        }
    }
}
