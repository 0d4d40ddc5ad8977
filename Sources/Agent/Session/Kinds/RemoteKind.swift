package import AgentConfiguration
package import Remotes
package import Transport
import UploadCore

/// A protocol of servers: makes what speaks it from the table `[remote]`.
///
/// Each protocol has one such type. `Configuration.Remote.kind` registers them.
package protocol RemoteKind: Sendable {
    /// Reads the settings.
    ///
    /// - Returns: nil for settings that the configuration refuses.
    init?(_ settings: Configuration.Remote)

    /// Returns the remote, with its traits.
    ///
    /// - Parameter account: the owner of the uploads.
    func remote(account: String, transport: any HTTPTransport, credentials: any CredentialSource) -> any Remote

    /// The question that shows `outbox doctor` and `outbox login` whether the server accepts the credentials; nil for a
    /// protocol with an `examiner`.
    var probe: (any RemoteProbe)? { get }

    /// Returns what examines the server for `outbox doctor`; nil for a protocol with a `probe`.
    func examiner(transport: any HTTPTransport, credentials: any CredentialSource) -> (any RemoteExaminer)?
}

extension RemoteKind {
    package var probe: (any RemoteProbe)? { nil }

    package func examiner(
        transport: any HTTPTransport, credentials: any CredentialSource
    ) -> (any RemoteExaminer)? { nil }
}

extension Configuration.Remote {
    /// What speaks the configured protocol; nil for settings that the configuration refuses.
    package var kind: (any RemoteKind)? {
        switch self.protocol {
        case .filesection: FileSectionKind(self)
        case .s3: S3Kind(self)
        case .tus: TusKind(self)
        }
    }
}

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
