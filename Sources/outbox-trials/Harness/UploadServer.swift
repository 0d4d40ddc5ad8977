import EndToEndSupport
import TestSupport

/// A server in memory, of any protocol, for trials that only upload files.
protocol UploadServer: Sendable {
    var url: String { get }
    /// How much content arrived, in fragments of 512 KiB, repetitions included.
    var arrivedFragments: Int { get }
    /// How much of it the server had already.
    var repeatedFragments: Int { get }
    /// The server's contents now.
    var stored: Stored { get }
}

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
    ///   - losesReply: whether the reply to a request is lost, which has its effect. Gets one of the ``requests``, or
    ///     the name of another request.
    func server(
        delay: Duration = .zero, losesReply: @escaping @Sendable (String) -> Bool = { _ in false }
    ) throws -> any UploadServer {
        switch self {
        case .filesection:
            try FaultServer(uploadDelay: delay) { endpoint, _ in losesReply(endpoint.rawValue) ? .lostReply : nil }
        case .tus: try TusServer(pause: delay / 8, losesReply: losesReply)
        case .s3: try S3Server(delay: delay, losesReply: losesReply)
        }
    }

    /// The names of the requests that an upload needs, some only after a lost reply.
    var requests: [String] {
        switch self {
        case .filesection: ["preLoad", "upload", "isFinish"]
        case .tus: ["POST", "PATCH", "HEAD"]
        case .s3: ["HEAD", "PutObject", "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload"]
        }
    }

    /// The size of a file that takes several fragments, with S3 several parts.
    var severalFragments: Int { self == .s3 ? 7_000_000 : 1_200_000 }

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

    /// Makes an agent for such a server.
    func agent(_ context: TrialContext, of server: any UploadServer, _ limits: Settings = [:]) throws -> Agent {
        try context.agent(remote: server.url, limits.merging(settings) { $1 }, environment: environment)
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

extension FaultServer: UploadServer {
    var arrivedFragments: Int { count(.upload) }
    var repeatedFragments: Int { store.repeated }
}

extension TusServer: UploadServer {
    var arrivedFragments: Int { uploads.values.map(\.received).reduce(0, +) >> 19 }
    var repeatedFragments: Int { uploads.values.map { $0.received - $0.bytes.count }.reduce(0, +) >> 19 }
    var stored: Stored { Stored(finished: uploads.values.filter(\.isComplete).map { Digest.md5($0.bytes) }) }
}

extension S3Server: UploadServer {
    var arrivedFragments: Int { arrivedBytes >> 19 }
    var repeatedFragments: Int { repeatedBytes >> 19 }
    var stored: Stored { Stored(finished: objects.values.map { Digest.md5($0.bytes) }) }
}
