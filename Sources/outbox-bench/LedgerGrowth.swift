import ArgumentParser
import Ledger
import Logging
import Synchronization
import UploadCore

/// Measures the ledger's cost per file as the ledger grows (P10): all writes of a file from its hash to its
/// confirmation, with several files at a time.
struct LedgerGrowth {
    let small: Int
    let large: Int
    let files: Int
    let pairs: Int

    func run(_ workplace: Workplace) throws -> Finding {
        note("The ledger at \(small) and \(large) entries")
        return try workplace.withRoom("ledger") { room in
            let few = try FilledLedger(directory: "\(room)/few", entries: small)
            let many = try FilledLedger(directory: "\(room)/many", entries: large)
            defer {
                few.ledger.close()
                many.ledger.close()
            }
            var costs: [(few: Double, many: Double)] = []
            for pair in 1...pairs {
                let cost = (few: few.cost(of: files), many: many.cost(of: files))
                note("  \(pair) of \(pairs)  \(Self.microseconds(cost.few)), \(Self.microseconds(cost.many))")
                costs.append(cost)
            }
            return finding(costs, size: try many.ledger.statistics().fileSize)
        }
    }

    private func finding(_ costs: [(few: Double, many: Double)], size: Int) -> Finding {
        let ratios = costs.map { $0.many / $0.few }
        let few = costs.map(\.few).median
        let many = costs.map(\.many).median
        return Finding(
            measure: "P10", figures: [Finding.Figure(name: "ratio", value: ratios.median, unit: "", bar: 1.2)],
            details: """
                [\(Text.fixed(ratios.min() ?? 0, 2))–\(Text.fixed(ratios.max() ?? 0, 2))]  a file \
                \(Self.microseconds(many)) at \(large) entries, \(Self.microseconds(few)) at \(small)  \
                ledger of \(Text.memory(size))  pairs \(pairs)
                """, medians: ["few": few, "many": many], count: pairs)
    }

    private static func microseconds(_ seconds: Double) -> String { "\(Text.fixed(seconds * 1e6, 1)) µs" }
}

struct P10: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Time to record a file, in a small and in a large ledger.")

    @OptionGroup var options: Options
    @OptionGroup var repetition: PairOptions
    @Option(help: "Entries in the small ledger.") var small = 1000
    @Option(help: "Entries in the large ledger.") var entries = 1_000_000
    @Option(help: "Files in a run.") var files = 2000

    func run() throws {
        try Report.run(options) { workplace, report in
            report.add(
                try LedgerGrowth(small: small, large: entries, files: files, pairs: repetition.pairs).run(workplace))
        }
    }
}

/// A ledger with a fixed number of finished files, also after each run.
private struct FilledLedger {
    let ledger: Ledger
    private let entries: Int

    /// The number of files at a time: the agent's uploads, plus as many files whose outcome is being stored.
    private static let slots = 10

    init(directory: String, entries: Int) throws {
        let logger = Logger(label: "outbox-bench") { _ in SwiftLogNoOpLogHandler() }
        ledger = try Ledger(directory: directory, logger: logger) { trouble in
            if let trouble { note("  \(trouble)") }
        }
        self.entries = entries
        for start in stride(from: 0, to: entries, by: 5000) {
            settle((start..<min(start + 5000, entries)).compactMap(StoredFile.init).flatMap(\.outcome))
        }
    }

    /// Returns the seconds per file, over this many new files.
    func cost(of count: Int) -> Double {
        let files = (entries..<entries + count).compactMap(StoredFile.init)
        let lane = Lane(ledger: ledger, files: files)
        let start = ContinuousClock.now
        for _ in 0..<Self.slots { lane.takeFile() }
        lane.finished.wait()
        let cost = start.secondsAgo / Double(count)
        settle(files.flatMap(\.removal))
        return cost
    }

    private func settle(_ writes: [LedgerWrite]) {
        let written = Countdown(1)
        ledger.commit(writes) { written.step() }
        written.wait()
    }
}

/// Writes files to the ledger: stores the next step of a file once the last step is durable.
private final class Lane: Sendable {
    let finished: Countdown
    private let ledger: Ledger
    private let files: Mutex<[StoredFile]>

    init(ledger: Ledger, files: [StoredFile]) {
        self.ledger = ledger
        self.files = Mutex(files)
        finished = Countdown(files.count)
    }

    func takeFile() {
        if let file = files.withLock({ $0.popLast() }) { store(file.steps[...]) }
    }

    private func store(_ steps: ArraySlice<[LedgerWrite]>) {
        guard let step = steps.first else {
            finished.step()
            return takeFile()
        }
        ledger.commit(step) { self.store(steps.dropFirst()) }
    }
}

/// The agent's ledger writes for a picture of one fragment.
private struct StoredFile {
    /// The writes by step: accepted, acknowledged, confirmed.
    let steps: [[LedgerWrite]]
    /// The remaining writes after the end of the upload.
    let outcome: [LedgerWrite]
    let removal: [LedgerWrite]

    init?(_ number: Int) {
        guard let path = RelativePath("trip \(number / 500)/IMG_\(number).jpg") else { return nil }
        // The bits of an MD5 are practically random.
        let key = ContentKey(
            high: UInt64(number) &* 0x9E37_79B9_7F4A_7C15 ^ 0xD1B5_4A32_D192_ED03,
            low: UInt64(number) &* 0xBF58_476D_1CE4_E5B9)
        let scope = RemoteScope("filesection http://127.0.0.1:8787 default")
        let seal = ContentSeal(size: 400_000, digest: key.low)
        var upload = UploadRecord(
            key: key, seal: seal, plan: FragmentPlan(size: 400_000), scope: scope, order: Int64(number))
        upload.remoteID = "\(number)"
        var queued = DropRecord(path: path, state: .queued, acceptedAt: WallTime(milliseconds: Int64(number)))
        queued.identity = FileIdentity(
            device: 1, inode: UInt64(number), size: 400_000, modified: Int64(number), changed: Int64(number), born: 1)
        queued.key = key
        queued.type = MediaType(kind: .image, mime: "image/jpeg")
        var done = queued
        done.state = .done
        done.remote = RemoteObject(id: "\(number)", url: "http://127.0.0.1:8787/o/\(key)/IMG_\(number).jpg")
        done.finishedAt = WallTime(milliseconds: Int64(number) + 500)
        let confirmation = Confirmation(
            key: key, seal: seal, scope: scope, remote: RemoteObject(id: "\(number)", url: done.remote?.url),
            confirmedAt: WallTime(milliseconds: Int64(number) + 500))
        outcome = [.confirmation(confirmation), .drop(done)]
        steps = [
            [.drop(queued), .upload(upload), .digests(key, [key.high])],
            [.fragments(key, FragmentPage(index: 0, words: [1]))],
            outcome + [.forgetUpload(key)],
        ]
        removal = [.forgetDrop(path), .forgetConfirmation(key, scope)]
    }
}
