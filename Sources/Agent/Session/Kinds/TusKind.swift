package import AgentConfiguration
package import Remotes
package import Transport
import UploadCore

/// Makes what speaks tus.
package struct TusKind: RemoteKind {
    private let settings: Configuration.Remote
    private let name: NameTemplate

    package init?(_ settings: Configuration.Remote) {
        guard let name = try? NameTemplate(settings.name) else { return nil }
        self.settings = settings
        self.name = name
    }

    package func remote(
        account: String, transport: any HTTPTransport, credentials: any CredentialSource
    ) -> any Remote {
        TusRemote(
            url: settings.writtenURL, account: account, name: name, maximumPatch: settings.maxPatch,
            createsWithUpload: settings.creationWithUpload, transport: transport,
            authorizer: BearerAuthorizer(credentials, url: settings.url))
    }

    package func examiner(
        transport: any HTTPTransport, credentials: any CredentialSource
    ) -> (any RemoteExaminer)? {
        TusExaminer(
            url: settings.writtenURL, transport: transport,
            authorizer: BearerAuthorizer(credentials, url: settings.url))
    }
}
