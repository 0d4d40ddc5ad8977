import HTTPTypes
import Hummingbird
import NIOCore

/// Answers programs that watch the receiver.
struct Monitoring {
    let store: Store
    /// Whether uploads need a token, so that strangers may ask.
    let hasStrangers: Bool
    /// Who may read the metrics; nil: nobody, unless there are no strangers.
    let readers: Tokens?

    /// Answers `GET /health`. Strangers do not learn the free space.
    func health() -> Response {
        let health = store.health
        var data: JSON = [:]
        if !hasStrangers, let space = try? store.spaceAboveFloor() {
            data = [
                "freeBytes": .integer(space + store.limits.freeSpaceFloor),
                "floorBytes": .integer(store.limits.freeSpaceFloor),
            ]
        }
        return .json(
            data, status: health == .ok ? .ok : .serviceUnavailable, message: health == .ok ? "OK" : health.rawValue,
            name: health == .ok ? "ok" : "failed")
    }

    /// Answers `GET /metrics`.
    func metrics(_ request: Request) throws(Refusal) -> Response {
        if hasStrangers {
            guard let readers else { throw .notFound }
            _ = try readers.user(authorization: request.headers[.authorization], now: store.now())
        }
        var headers: HTTPFields = [.contentType: Metrics.contentType, .cacheControl: "no-store"]
        headers.keepSecret()
        return Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: Metrics(store).text)))
    }
}

/// The receiver's numbers in the text format of Prometheus 0.0.4
/// (prometheus.io/docs/instrumenting/exposition_formats).
struct Metrics {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    init(_ store: Store) {
        let values = store.counters.values
        add("requests_total", "Requests answered.", values.requests)
        add("fragments_total", "New fragments stored.", values.fragments)
        add("fragment_bytes_total", "Bytes of new fragments.", values.fragmentBytes)
        add("files_total", "Uploads finished and verified.", values.files)
        add("file_bytes_total", "Bytes of finished uploads.", values.fileBytes)
        add(
            "refusals_total", "Replies with an error status.",
            values.refusals.sorted { $0.key < $1.key }.map { ("status=\"\($0.key)\"", Int64($0.value)) })
        add("healthy", "1 if the receiver can take uploads.", store.health == .ok ? 1 : 0)
        add("open_uploads", "Unfinished uploads.", store.open.count)
        add("free_space_floor_bytes", "Disk space that stays free.", store.limits.freeSpaceFloor)
        if let space = try? store.spaceAboveFloor() {
            add("free_bytes", "Free disk space, with the floor.", space + store.limits.freeSpaceFloor)
        }
        // A user's name has no character that the format escapes.
        let users = store.userTotals.map { (label: "user=\"\($0.user)\"", totals: $0) }
        add("user_files", "Finished files of a user.", users.map { ($0.label, Int64($0.totals.files)) })
        add("user_used_bytes", "What counts for a user's quota.", users.map { ($0.label, $0.totals.usage.used) })
        add(
            "user_quota_bytes", "A user's quota; missing without one.",
            users.compactMap { user in user.totals.usage.quota.map { (user.label, $0) } })
    }

    private mutating func add(_ name: String, _ help: String, _ value: some BinaryInteger) {
        add(name, help, [("", Int64(value))])
    }

    /// - Parameter samples: The labels and value of each; without samples, nothing is written.
    private mutating func add(_ name: String, _ help: String, _ samples: [(labels: String, value: Int64)]) {
        guard !samples.isEmpty else { return }
        let full = "outbox_receiver_\(name)"
        text += "# HELP \(full) \(help)\n# TYPE \(full) \(name.hasSuffix("_total") ? "counter" : "gauge")\n"
        for sample in samples {
            text += "\(full)\(sample.labels.isEmpty ? "" : "{\(sample.labels)}") \(sample.value)\n"
        }
    }
}
