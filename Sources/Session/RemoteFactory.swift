package import AgentConfiguration
package import Remotes
package import Transport
import UploadCore

/// Makes what speaks the protocol of a configuration. The only place that knows every remote.
package struct RemoteFactory: Sendable {
    private let settings: Configuration.Remote

    /// Creates a factory for the server of a configuration.
    package init(_ settings: Configuration.Remote) { self.settings = settings }

    /// Returns the remote, with its traits.
    ///
    /// - Parameter account: the owner of the uploads.
    /// - Returns: nil for settings that the configuration refuses.
    package func remote(
        account: String, transport: any HTTPTransport, credentials: any CredentialSource
    ) -> (any Remote)? {
        switch settings.protocol {
        case .filesection:
            FileSectionRemote(
                url: settings.url, account: account, transport: transport,
                authorizer: BearerAuthorizer(credentials, url: settings.url))
        case .s3:
            S3Options(settings).map {
                S3Remote($0, account: account, transport: transport, credentials: credentials)
            }
        case .tus:
            (try? NameTemplate(settings.name)).map {
                TusRemote(
                    url: settings.writtenURL, account: account, name: $0, maximumPatch: settings.maxPatch,
                    createsWithUpload: settings.creationWithUpload, transport: transport,
                    authorizer: BearerAuthorizer(credentials, url: settings.url))
            }
        }
    }

    /// Returns what examines the server for `outbox doctor`; nil for fileSection, whose `probe` does.
    package func examiner(
        transport: any HTTPTransport, credentials: any CredentialSource
    ) -> (any RemoteExaminer)? {
        switch settings.protocol {
        case .s3: S3Options(settings).map { S3Examiner($0, transport: transport, credentials: credentials) }
        case .tus:
            TusExaminer(
                url: settings.writtenURL, transport: transport,
                authorizer: BearerAuthorizer(credentials, url: settings.url))
        case .filesection: nil
        }
    }

    /// The examination of a fileSection server; nil for other protocols, which have an `examiner`.
    package var probe: (any RemoteProbe)? {
        switch settings.protocol {
        case .filesection: FileSectionProbe(url: settings.url)
        case .tus, .s3: nil
        }
    }
}

extension S3Options {
    /// Reads the settings of S3.
    ///
    /// - Returns: nil without a bucket, or with an invalid `remote.key`; the configuration refuses both.
    package init?(_ settings: Configuration.Remote) {
        guard let bucket = settings.bucket, let key = try? NameTemplate(settings.key) else { return nil }
        self.init(endpoint: settings.url, bucket: bucket)
        region = settings.region
        prefix = settings.prefix
        pathStyle =
            switch settings.pathStyle {
            case .auto: .auto
            case .always: .path
            case .never: .virtualHost
            }
        self.key = key
        checksum = settings.checksum
        storageClass = settings.storageClass
        serverSideEncryption = settings.serverSideEncryption
        encryptionKeyID = settings.sseKMSKeyID
        acl = settings.acl
        partSize = settings.partSize.map { UInt32(clamping: $0) }
    }
}
