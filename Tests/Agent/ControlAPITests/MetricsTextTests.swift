import Reports
import Testing
import UploadCore

@testable import ControlAPI

@Suite("Metrics")
struct MetricsTextTests {
    private static let process = ProcessFigures(residentBytes: 31_000_000, openDescriptors: 23, processorSeconds: 1.25)

    private static var sample: AgentMetrics {
        var metrics = AgentMetrics()
        metrics.files = [.done: 120, .uploading: 3]
        metrics.bytesAcknowledged = 9_007_199_254_740_993
        metrics.fragmentsFailed = ["temporary": 4, "signed_out": 1]
        metrics.lastScan = .milliseconds(1500)
        metrics.problems = ["ledger"]
        metrics.hooks = [HookStatus(name: "publish")]
        metrics.hooks[0].waiting = 7
        metrics.hooks[0].failures = 2
        metrics.isPaused = true
        metrics.uptime = .seconds(3600)
        metrics.version = "1.0 \"beta\"\\\n"
        return metrics
    }

    private func parsed(_ metrics: AgentMetrics = MetricsTextTests.sample) throws -> [String: ExpositionParser.Metric] {
        try ExpositionParser(metrics.prometheusText(process: Self.process)).metrics
    }

    @Test("The whole text is well-formed, even before any activity")
    func wellFormed() throws {
        #expect(try parsed().count > 25)
        #expect(try parsed(AgentMetrics()).count > 20)
    }

    @Test("Every state has its number of files")
    func files() throws {
        let samples = try #require(try parsed()["outbox_files"]).samples
        #expect(Set(samples.compactMap { $0.labels["state"] }) == Set(FileState.allCases.map(\.rawValue)))
        #expect(samples.first { $0.labels["state"] == "done" }?.value == 120)
        #expect(samples.first { $0.labels["state"] == "failed" }?.value == 0)
    }

    @Test("Values come with their unit")
    func values() throws {
        let metrics = try parsed()
        let value = { (name: String) in metrics["outbox_" + name]?.samples.first?.value }
        #expect(value("last_scan_seconds") == 1.5)
        #expect(value("uptime_seconds") == 3600)
        #expect(value("paused") == 1)
        #expect(value("hook_waiting") == 7 && value("hook_failures_total") == 2)
        #expect(metrics["outbox_hook_waiting"]?.samples.first?.labels["hook"] == "publish")
        #expect(value("resident_memory_bytes") == 31_000_000)
        #expect(value("open_descriptors") == 23)
        #expect(value("cpu_seconds_total") == 1.25)
        #expect(value("upload_acknowledged_bytes_total") == 9_007_199_254_740_992)
    }

    @Test("Failures are counted by class, and labels are escaped")
    func labels() throws {
        let metrics = try parsed()
        let failures = try #require(metrics["outbox_fragments_failed_total"]).samples
        #expect(failures.first { $0.labels["class"] == "temporary" }?.value == 4)
        #expect(metrics["outbox_build_info"]?.samples.first?.labels["version"] == "1.0 \"beta\"\\\n")
    }

    @Test("Names have the prefix, and only counters end in _total")
    func names() throws {
        for (name, metric) in try parsed() {
            #expect(name.hasPrefix("outbox_"))
            #expect((metric.type == "counter") == name.hasSuffix("_total"), "\(name)")
        }
    }

    @Test("This process has memory and descriptors")
    func process() {
        let figures = ProcessFigures.now()
        #expect((figures.residentBytes ?? 0) > 1_000_000)
        #expect((figures.openDescriptors ?? 0) >= 3)
        #expect(figures.processorSeconds > 0)
    }

    @Test("Metrics are served in the text format of Prometheus")
    func served() async throws {
        let bench = try ControlBench()
        bench.backend.set { $0.metrics = Self.sample }
        let reply = try await bench.serving { try await bench.ask("GET", "/metrics") }
        #expect(reply.status == 200)
        #expect(try ExpositionParser(reply.body).metrics["outbox_files"] != nil)
    }

    @Test(
        "The parser of these tests finds faults",
        arguments: [
            "outbox_a 1\n", "# HELP outbox_a A.\n# TYPE outbox_a gauge\noutbox_a 1",
            "# TYPE outbox_a gauge\noutbox_a 1\n",
            "# HELP outbox_a A.\n# TYPE outbox_a gauge\noutbox_a{b=\"\\x\"} 1\n",
            "# HELP outbox_a A.\n# TYPE outbox_a gauge\noutbox_a 1\noutbox_a 2\n",
            "# HELP outbox_a A.\n# TYPE outbox_a gauge\noutbox_a one\n", "# HELP outbox_a A.\n# TYPE outbox_a gauge\n",
        ])
    func parser(text: String) {
        #expect(throws: ExpositionParser.Malformed.self) { try ExpositionParser(text) }
    }
}
