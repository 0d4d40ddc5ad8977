import EndToEndSupport
import TestSupport

/// A server in memory, of any protocol, for trials that only upload files.
protocol UploadServer: Sendable {
    /// Chooses the fault of a request by its name, one of ``RemoteKind/requests`` or another.
    typealias Faults = @Sendable (String) -> FaultServer.Fault?

    var url: String { get }
    /// How much content arrived, in fragments of 512 KiB, repetitions included.
    var arrivedFragments: Int { get }
    /// How many bytes of each content the server had already when they arrived, by MD5. Counts whole fragments, or parts,
    /// except for tus.
    var repetitions: [String: Int] { get }
    /// The server's contents now.
    var stored: Stored { get }
    var requestCount: Int { get }

    func setFaults(_ faults: @escaping Faults)
    /// Refuses one content from now on.
    func refuse(_ refusal: Refusal?)
    /// Refuses requests with other credentials from now on: a token, or an access key.
    func require(credential: String)
    /// Whether a request with these credentials got its answer.
    func hasServed(credential: String) -> Bool
    /// Forgets an unfinished upload of which something arrived, and returns the MD5 of its content; nil if there is none.
    func forgetUnfinished() -> String?
    /// Replaces a confirmed content by its MD5, to save memory.
    func archive(_ key: String)
}

extension UploadServer {
    /// How much content the server had already, in fragments of 512 KiB.
    var repeatedFragments: Int { repetitions.values.reduce(0, +) >> 19 }
}

/// A server that a trial kills and starts again.
protocol KillableServer {
    var url: String { get }
    func kill() async throws
    func start() async throws
    /// Reads the server's contents.
    func contents() throws -> Stored
}

extension FaultServer: UploadServer {
    var repetitions: [String: Int] {
        store.arrivals.mapValues { blocks in blocks.values.reduce(0) { $0 + $1 - 1 } << 19 }
    }
    var requestCount: Int { records.count }

    func setFaults(_ faults: @escaping Faults) { setFaults { endpoint, _ in faults(endpoint.rawValue) } }
    func require(credential: String) { require(token: credential) }
    func hasServed(credential: String) -> Bool { requests(with: credential).contains { $0.fault == nil } }
    /// Forgets a finished upload if it finishes in this moment.
    func forgetUnfinished() -> String? {
        let open = store.uploads.filter { !$0.value.finished && !$0.value.received.isEmpty }
        guard let victim = open.min(by: { $0.key < $1.key }) else { return nil }
        change { $0.forget(victim.key) }
        return victim.value.md5
    }
    /// The server never keeps finished contents.
    func archive(_ key: String) {}
}

extension TusServer: UploadServer, KillableServer {
    var arrivedFragments: Int { arrivedBytes >> 19 }
    var stored: Stored { Stored(finished: finished) }
    var requestCount: Int { records.count }

    func require(credential: String) { require(token: credential) }
    func hasServed(credential: String) -> Bool {
        records.contains { $0.authorization == "Bearer \(credential)" && $0.fault == nil }
    }
    func contents() -> Stored { stored }
}

extension S3Server: UploadServer, KillableServer {
    var arrivedFragments: Int { arrivedBytes >> 19 }
    var stored: Stored { Stored(finished: finished) }

    func require(credential: String) { require(accessKey: credential) }
    func hasServed(credential: String) -> Bool { hasServed(accessKey: credential) }
    func contents() -> Stored { stored }
}

extension Receiver: KillableServer {
    func contents() throws -> Stored { try stored() }
}
