import AgentTestSupport
import FileWatch
import Foundation
import Reports
import TestSupport
import Testing
import UploadCore

@testable import Agent
@testable import FileWatch

extension Bench {
    /// Reports a full scan that found every existing path.
    func scan() async throws {
        var summary = ScanSummary()
        for name in FileManager.default.enumerator(atPath: outbox)?.compactMap({ $0 as? String }) ?? [] {
            summary.insert(try path(name))
        }
        await uploader.take([.scanned(summary)])
    }

    /// Writes a directory's `source.toml` and reports it like the watch.
    func describe(_ directory: String, _ text: String = "") async throws {
        try await drop("\(directory)/source.toml", Array(text.utf8))
    }

    /// Advances the clock by `SourceMachine.quiet`, after which the agent takes a post without changes.
    func passQuiet() async {
        clock.advance(by: SourceMachine.quiet)
        await uploader.alarmRang()
    }

    func source(_ directory: String) async -> SourceReport? {
        await backend.sources().first { $0.directory.description == directory }
    }

    /// Waits until a post is in a state.
    func until(_ directory: String, _ state: SourceState) async throws {
        var last: SourceReport?
        try await Poll.until("\(directory) is \(state)", lastState: { "\(String(describing: last))" }) {
            last = await source(directory)
            return last?.state == state
        }
    }

    /// Waits until the record of every named file has a key.
    func known(_ names: String...) async throws {
        for name in names {
            try await Poll.until("the content of \(name)") { try await record(name)?.key != nil }
        }
    }
}
