package import AgentConfiguration
package import Remotes
package import Transport
import UploadCore

/// Makes what speaks S3.
package struct S3Kind: RemoteKind {
    private let options: S3Options

    package init?(_ settings: Configuration.Remote) {
        guard let options = S3Options(settings) else { return nil }
        self.options = options
    }

    package func remote(
        account: String, transport: any HTTPTransport, credentials: any CredentialSource
    ) -> any Remote {
        S3Remote(options, account: account, transport: transport, credentials: credentials)
    }

    package func examiner(
        transport: any HTTPTransport, credentials: any CredentialSource
    ) -> (any RemoteExaminer)? {
        S3Examiner(options, transport: transport, credentials: credentials)
    }
}

extension S3Options {
    /// Reads the settings of S3.
    ///
    /// - Returns: nil without a bucket, or with an invalid `remote.key`; the configuration refuses both.
    init?(_ settings: Configuration.Remote) {
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
