import EndToEndSupport
import Glibc
import TestSupport

/// The protocols that the agent speaks.
enum RemoteKind: String, CaseIterable {
    case filesection, tus, s3

    /// The smallest part that S3 allows, so that files have many.
    private static let partSize = "5MiB"

    /// What the name of a trial ends with: nothing for the usual protocol.
    var suffix: String { self == .filesection ? "" : "-\(rawValue.uppercased())" }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - delay: the delay of the answer to each fragment or part; for tus, of each 64 KiB an eighth of it.
    ///   - takesGroups: whether a request of the usual protocol may bring several fragments.
    ///   - faults: chooses the faults.
    func server(
        delay: Duration = .zero, takesGroups: Bool = false, faults: @escaping UploadServer.Faults = { _ in nil }
    ) throws -> any UploadServer {
        switch self {
        case .filesection:
            try FaultServer(uploadDelay: delay, takesGroups: takesGroups) { endpoint, _ in faults(endpoint.rawValue) }
        case .tus: try TusServer(pause: delay / 8, faults: faults)
        case .s3: try S3Server(delay: delay, faults: faults)
        }
    }

    /// Starts a server that can be killed: a program for the usual protocol, else a server in memory.
    func killableServer(_ context: TrialContext) async throws -> any KillableServer {
        switch self {
        case .filesection: try await context.receiver()
        case .tus: try TusServer()
        case .s3: try S3Server()
        }
    }

    // MARK: Requests

    /// The names of the requests that an upload needs, some only after a lost reply.
    var requests: [String] {
        switch self {
        case .filesection: ["preLoad", "upload", "isFinish"]
        case .tus: ["POST", "PATCH", "HEAD"]
        case .s3: ["HEAD", "PutObject", "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload"]
        }
    }

    /// The names of the requests that carry contents.
    var sendingRequests: Set<String> {
        switch self {
        case .filesection: ["upload"]
        case .tus: ["PATCH"]
        case .s3: ["PutObject", "UploadPart"]
        }
    }

    /// The name of the request that an upload begins with, and begins anew with if the server forgot it. With S3, small
    /// files have none.
    var registration: String {
        switch self {
        case .filesection: "preLoad"
        case .tus: "POST"
        case .s3: "CreateMultipartUpload"
        }
    }

    /// The size of a file that takes several fragments, with S3 several parts.
    var severalFragments: Int { self == .s3 ? 7_000_000 : 1_200_000 }

    // MARK: Agents

    /// The settings of an agent for such a server.
    private var settings: Settings {
        switch self {
        case .filesection: [:]
        case .tus: ["remote.protocol": "tus"]
        case .s3:
            [
                "remote.protocol": "s3", "remote.bucket": .string(S3Server.bucket),
                "remote.part_size": .string(Self.partSize),
            ]
        }
    }

    private var environment: [String: String] { self == .s3 ? S3Server.keys : [:] }

    /// Makes an agent for the server at this address.
    func agent(_ context: TrialContext, of url: String, _ limits: Settings = [:]) throws -> Agent {
        try context.agent(remote: url, limits.merging(settings) { $1 }, environment: environment)
    }

    /// The setting that names a file with credentials.
    var credentialsSetting: String { self == .s3 ? "remote.credentials_file" : "remote.token_file" }

    /// Replaces a file with credentials atomically, like a program that renews them.
    func put(credential: String, in path: String) throws {
        let text =
            self == .s3
            ? "[default]\naws_access_key_id = \(credential)\naws_secret_access_key = secret\n" : credential + "\n"
        try Files.write(Array(text.utf8), to: path + ".new")
        chmod(path + ".new", 0o600)
        try Files.rename(path + ".new", to: path)
    }

    /// How many fragments of 512 KiB a kill may repeat for each request in flight: with tus, what waits in the buffers of
    /// the connection, which the server may get after the agent asked for the offset.
    var fragmentsPerRequest: Int {
        switch self {
        case .filesection: 1
        case .tus: 16
        case .s3: 10
        }
    }
}
