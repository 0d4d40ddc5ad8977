import Reports
import UploadCore

extension AgentMetrics {
    /// Returns the answer to `GET /metrics`. docs/http.md explains each metric.
    func prometheusText(process: ProcessFigures) -> String {
        var text = PrometheusText()
        writeFiles(into: &text)
        writeUploads(into: &text)
        writeIntake(into: &text)
        writeLedger(into: &text)
        avatars?.write(into: &text)
        writeHooks(into: &text)
        writeAgent(into: &text)
        process.write(into: &text)
        return text.text
    }

    private func writeFiles(into text: inout PrometheusText) {
        text.add(
            .gauge, "files",
            FileState.allCases.map { state in
                .init(labels: [("state", state.rawValue)], value: Double(files[state] ?? 0))
            }, "Paths by state.")
    }

    private func writeUploads(into text: inout PrometheusText) {
        text.add(.gauge, "uploads", uploads, "Contents neither confirmed nor failed.")
        text.add(.counter, "uploads_done_total", uploadsDone, "Paths whose content the server confirmed.")
        text.add(.counter, "uploads_failed_total", uploadsFailed, "Paths that failed for good.")
        text.add(.counter, "upload_retries_total", retries, "Fragments that failed and are sent again.")
        text.add(
            .counter, "upload_acknowledged_bytes_total", bytesAcknowledged,
            "Bytes of fragments that the server acknowledged.")
        text.add(
            .counter, "fragments_sent_total", fragmentsSent, "Fragments whose sending began, including repetitions.")
        text.add(
            .counter, "fragments_acknowledged_total", fragmentsAcknowledged, "Fragments that the server acknowledged.")
        text.add(
            .counter, "fragments_failed_total",
            fragmentsFailed.sorted { $0.key < $1.key }.map { failure, count in
                .init(labels: [("class", failure)], value: Double(count))
            }, "Fragments whose sending failed, by class of failure.")
        text.add(.gauge, "fragments_in_flight", fragmentsInFlight, "Fragments being sent now.")
        text.add(.gauge, "requests_in_flight", requestsInFlight, "Requests to the server under way.")
    }

    private func writeIntake(into text: inout PrometheusText) {
        text.add(.counter, "hashed_bytes_total", bytesHashed, "Bytes read to compute MD5s.")
        if let productsMade {
            text.add(.counter, "products_total", productsMade, "Files made smaller or freed of positions.")
            text.add(.counter, "products_seconds_total", productSeconds, "Time spent on processing files.")
            text.add(
                .counter, "products_saved_bytes_total", productBytesSaved,
                "Bytes that products have less than their files.")
        }
        text.add(.gauge, "hash_queue_files", hashQueue, "Files that wait to be hashed or are being hashed.")
        text.add(.gauge, "watched_directories", watches, "Directories watched by the kernel.")
        text.add(
            .gauge, "polled_directories", polledDirectories,
            "Directories that are polled because they can't be watched.")
        text.add(
            .counter, "event_overflows_total", eventOverflows,
            "Times the kernel dropped events because its queue was full.")
        text.add(.counter, "scans_total", scans, "Completed full scans.")
        if let lastScan { text.add(.gauge, "last_scan_seconds", lastScan.seconds, "How long the last full scan took.") }
    }

    private func writeLedger(into text: inout PrometheusText) {
        text.add(.gauge, "ledger_size_bytes", ledgerBytes, "Size of the ledger's file.")
        text.add(.gauge, "ledger_entries", ledgerEntries, "Paths in the ledger.")
        text.add(
            .counter, "ledger_commit_troubles_total", ledgerCommitTroubles,
            "Times that the ledger could not be written at once.")
    }

    private func writeHooks(into text: inout PrometheusText) {
        func samples(_ value: (HookStatus) -> Int) -> [PrometheusText.Sample] {
            hooks.map { .init(labels: [("hook", $0.name)], value: Double(value($0))) }
        }
        text.add(.gauge, "hook_waiting", samples(\.waiting), "Outcomes that wait for a hook, at most.")
        text.add(.counter, "hook_failures_total", samples(\.failures), "Failed calls of a hook.")
    }

    private func writeAgent(into text: inout PrometheusText) {
        text.add(.gauge, "problems", problems.count, "Problems that need attention.")
        text.add(
            .gauge, "problem", problems.sorted().map { .init(labels: [("code", $0)], value: 1) },
            "1 for each problem that needs attention.")
        text.add(.gauge, "paused", isPaused ? 1 : 0, "1 while everything is paused.")
        text.add(.gauge, "uptime_seconds", uptime.seconds, "How long the agent has been running.")
        text.add(
            .gauge, "build_info", [.init(labels: [("version", version)], value: 1)],
            "Always 1; its label is the program's version.")
    }
}

extension Duration {
    /// The duration in seconds.
    fileprivate var seconds: Double { Double(wholeNanoseconds) / 1e9 }
}
