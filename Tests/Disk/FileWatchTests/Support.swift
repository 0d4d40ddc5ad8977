import CLinux
import Foundation
import Glibc
import LinuxSystem
import Synchronization
import SystemPackage
import TestSupport
import Testing
import UploadCore

@testable import FileWatch

/// A watched directory and all events that the watch reported.
final class Outbox: Sendable {
    /// Contains the outbox. Files beside the outbox are not watched.
    let directory: TemporaryDirectory
    let root: String
    let watch: FileWatch
    private let log = EventLog()

    init(
        _ options: FileWatch.Options = .quick(), in directory: TemporaryDirectory? = nil,
        kernel: Kernel = Kernel(), onEvents: @escaping @Sendable ([WatchEvent]) -> Void = { _ in }
    ) throws {
        self.directory = try directory ?? TemporaryDirectory()
        root = self.directory.path("outbox")
        if !FileManager.default.fileExists(atPath: root) {
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
        }
        let log = log
        watch = try FileWatch(root: root, options: options, kernel: kernel) { events in
            onEvents(events)
            log.append(events)
        }
    }

    deinit { watch.stop() }

    var events: [WatchEvent] { log.all }

    /// The events without details, for readable comparisons.
    var story: [String] { events.map(\.headline) }

    /// Starts the watch and waits for the end of the first full scan.
    func start() async throws {
        watch.start()
        try await sees("the first scan") { $0.hasPrefix("scanned") }
    }

    func path(_ name: String) -> String { "\(root)/\(name)" }

    func write(_ name: String, _ text: String = "content") throws {
        // Not through Foundation, which writes a temporary file and renames it.
        let file = try Writer(path(name))
        try file.append(text)
        file.close()
    }

    func makeDirectory(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: true)
    }

    func sees(_ what: String, _ isIt: (String) -> Bool) async throws {
        try await Poll.until(what, timeout: .seconds(120), lastState: { story.suffix(40).joined(separator: ", ") }) {
            story.contains(where: isIt)
        }
    }

    func sees(_ headline: String, times: Int = 1) async throws {
        try await Poll.until(
            headline, timeout: .seconds(120), lastState: { story.suffix(40).joined(separator: ", ") }
        ) { story.count { $0 == headline } >= times }
    }

    /// Runs a full scan and returns its summary. By then the watch has reported all earlier changes.
    func rescan() async throws -> ScanSummary {
        let before = scans.count
        watch.rescan()
        try await Poll.until("a scan", timeout: .seconds(120)) { scans.count > before }
        return scans[before]
    }

    var limits: [WatchLimit] {
        events.compactMap { if case .watchLimit(let limit) = $0 { limit } else { nil } }
    }

    var scans: [ScanSummary] {
        events.compactMap { if case .scanned(let summary) = $0 { summary } else { nil } }
    }
}

final class EventLog: Sendable {
    private let events = Mutex<[WatchEvent]>([])
    var all: [WatchEvent] { events.withLock { $0 } }
    func append(_ batch: [WatchEvent]) { events.withLock { $0 += batch } }
}

extension Kernel {
    /// A kernel that reports no mounts. The real kernel reports each mount on the machine to every watch.
    static var withoutMounts: Kernel {
        var kernel = Kernel()
        kernel.openMounts = { () throws(Errno) in try MountMonitor(path: "/dev/null") }
        return kernel
    }
}

extension FileWatch.Options {
    /// Options for a watch that settles quickly and never rescans by itself.
    static func quick(
        settle: Duration = .milliseconds(50), unknownWriterWait: Duration = .milliseconds(200),
        isIgnored: @escaping @Sendable (RelativePath, Bool) -> Bool = { _, _ in false },
        isKnown: @escaping @Sendable (RelativePath, FileStatus) -> Bool = { _, _ in false }
    ) -> FileWatch.Options {
        FileWatch.Options(
            settle: settle, rescan: .seconds(3600), unknownWriterWait: unknownWriterWait,
            pollInterval: .milliseconds(50), isIgnored: isIgnored, isKnown: isKnown)
    }
}

extension WatchEvent {
    var headline: String {
        switch self {
        case .seen(let path): "seen \(path)"
        case .ready(let path, _): "ready \(path)"
        case .odd(let path, _): "odd \(path)"
        case .unreadable(let path, _): "unreadable \(path)"
        case .unlistable(let path, _): "unlistable \(path)"
        case .gone(let path): "gone \(path)"
        case .renamed(let from, let to, _): "renamed \(from) \(to)"
        case .scanned(let summary): "scanned \(summary.files)"
        case .deferring(let isDeferring): "deferring \(isDeferring)"
        case .overflowed: "overflowed"
        case .watchLimit(let limit): "limit \(limit.directory)"
        case .mountLost(let path): "mount lost \(path)"
        case .mounted(let path, let isSame): "mounted \(path) \(isSame)"
        case .rootLost: "lost"
        case .rootBack(let isSame): "back \(isSame)"
        }
    }
}

/// Parses a path that the test knows to be valid.
func relative(_ path: String) throws -> RelativePath { try #require(RelativePath(path)) }

/// The time this many milliseconds after the clock's zero.
func at(_ milliseconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }

/// Runs a program to its end.
///
/// - Returns: whether the program succeeded; false if it does not exist.
func run(_ program: String...) -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = program
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
}

/// Exchanges two names (man 2 renameat2, RENAME_EXCHANGE) and returns the result of the system call.
func exchange(_ one: String, _ other: String) -> Int32 {
    outbox_renameat2(AT_FDCWD, one, AT_FDCWD, other, 2)
}

/// Keeps a file open for writing.
final class Writer {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        if descriptor < 0 { throw Errno(rawValue: errno) }
    }

    func append(_ text: String) throws {
        if Glibc.write(descriptor, text, text.utf8.count) < 0 { throw Errno(rawValue: errno) }
    }

    func close() { _ = Glibc.close(descriptor) }
}
