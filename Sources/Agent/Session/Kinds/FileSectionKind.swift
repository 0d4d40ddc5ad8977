package import AgentConfiguration
package import Remotes
package import Transport

/// Makes what speaks fileSection.
package struct FileSectionKind: RemoteKind {
    private let url: String

    package init(_ settings: Configuration.Remote) { url = settings.url }

    package func remote(
        account: String, transport: any HTTPTransport, credentials: any CredentialSource
    ) -> any Remote {
        FileSectionRemote(
            url: url, account: account, transport: transport, authorizer: BearerAuthorizer(credentials, url: url))
    }

    package var probe: (any RemoteProbe)? { FileSectionProbe(url: url) }
}
