package import AgentConfiguration
package import Remotes
package import Transport

/// Makes what speaks the protocol of a configuration. The only place that knows every remote.
package struct RemoteFactory: Sendable {
    private let settings: Configuration.Remote

    /// Creates a factory for the server of a configuration.
    package init(_ settings: Configuration.Remote) { self.settings = settings }

    /// Returns the remote, with its traits.
    ///
    /// - Parameter account: the owner of the uploads.
    /// - Returns: nil for a protocol that is not built yet; `Configuration.startRefusal` says so.
    package func remote(
        account: String, transport: any HTTPTransport, credentials: any CredentialSource
    ) -> (any Remote)? {
        switch settings.protocol {
        case .filesection:
            FileSectionRemote(
                url: settings.url, account: account, transport: transport,
                authorizer: BearerAuthorizer(credentials, url: settings.url))
        case .tus, .s3: nil
        }
    }

    /// Returns what examines the server for `outbox doctor`; nil for fileSection, whose `probe` does, and for a protocol
    /// that is not built yet.
    package func examiner(
        account: String, transport: any HTTPTransport, credentials: any CredentialSource
    ) -> (any RemoteExaminer)? {
        switch settings.protocol {
        case .filesection, .tus, .s3: nil
        }
    }

    /// The examination of the server; nil for a protocol that is not built yet.
    package var probe: (any RemoteProbe)? {
        switch settings.protocol {
        case .filesection: FileSectionProbe(url: settings.url)
        case .tus, .s3: nil
        }
    }
}
