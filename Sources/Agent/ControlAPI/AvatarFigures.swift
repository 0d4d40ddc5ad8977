/// Counters and sizes of the mirror, for `GET /metrics` (docs/http.md).
package struct AvatarFigures: Equatable, Sendable {
    /// Number of mirrored pictures.
    package var kept = 0
    /// Bytes on disk, including styled pictures.
    package var keptBytes: UInt64 = 0
    /// Number of failed URLs that are not retried yet.
    package var blacklisted = 0
    /// Requested pictures by kind of answer: `picture`, `placeholder` (counter).
    package var requests: [String: UInt64] = ["picture": 0, "placeholder": 0]
    /// Downloaded pictures (counter).
    package var downloads: UInt64 = 0
    /// Pictures removed from the mirror (counter).
    package var removals: UInt64 = 0
    /// Pictures that could not be delivered, by code (counter).
    package var failures: [String: UInt64] = [:]

    package init(
        kept: Int = 0, keptBytes: UInt64 = 0, blacklisted: Int = 0,
        requests: [String: UInt64] = ["picture": 0, "placeholder": 0], downloads: UInt64 = 0, removals: UInt64 = 0,
        failures: [String: UInt64] = [:]
    ) {
        self.kept = kept
        self.keptBytes = keptBytes
        self.blacklisted = blacklisted
        self.requests = requests
        self.downloads = downloads
        self.removals = removals
        self.failures = failures
    }

    func write(into text: inout PrometheusText) {
        text.add(.gauge, "avatars", kept, "Mirrored pictures.")
        text.add(.gauge, "avatars_size_bytes", keptBytes, "Size of the mirrored pictures, styled ones included.")
        text.add(.gauge, "avatars_blacklisted", blacklisted, "URLs that failed and are not asked again for now.")
        text.add(
            .counter, "avatar_requests_total", Self.samples(requests, "answer"),
            "Requests for pictures, by answer.")
        text.add(.counter, "avatar_downloads_total", downloads, "Downloaded pictures.")
        text.add(.counter, "avatar_removals_total", removals, "Pictures removed from the mirror.")
        text.add(
            .counter, "avatar_failures_total", Self.samples(failures, "code"),
            "Requests for pictures that failed, by reason.")
    }

    private static func samples(_ counts: [String: UInt64], _ label: String) -> [PrometheusText.Sample] {
        counts.sorted { $0.key < $1.key }.map { .init(labels: [(label, $0.key)], value: Double($0.value)) }
    }
}
