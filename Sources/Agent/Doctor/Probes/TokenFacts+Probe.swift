import AgentConfiguration
import Glibc
import LinuxSystem
import Session
import SystemPackage

extension TokenFacts {
    /// Searches for tokens in the same places as the agent.
    init(probing configuration: Configuration, environment: [String: String]) {
        environmentHoldsToken = environment["OUTBOX_TOKEN"].flatMap { value in
            value.isEmpty ? nil : Self.holdsToken(environment: value, file: nil)
        }
        tokenFile = configuration.remote.tokenFile.map(Self.look)
        stored = Self.look(at: configuration.state + "/token")
        mayTravel = configuration.remote.allowsToken
        url = configuration.remote.url
    }

    private static func look(at path: String) -> File {
        do throws(Errno) {
            let status = try FileStatus(path: path)
            guard status.kind == .regular else { return File(path: path, content: .unreadable("not a regular file")) }
            _ = try SharedDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK)
            let content: File.Content = holdsToken(environment: nil, file: path) ? .token : .noToken
            return File(path: path, content: content, permissions: status.permissions)
        } catch {
            return File(path: path, content: error == .noSuchFileOrDirectory ? .missing : .unreadable("\(error)"))
        }
    }

    /// Whether the agent's own `Credentials` find a token.
    private static func holdsToken(environment: String?, file: String?) -> Bool {
        // The stored token must not count here. /dev/null as state directory contains no files.
        Credentials(environmentToken: environment, tokenFile: file, stateDirectory: "/dev/null").bearerToken() != nil
    }
}
