import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import SystemdService

@Suite("Notifications to the service manager")
struct ServiceNotifierTests {
    private let directory: TemporaryDirectory
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    init() throws {
        directory = try TemporaryDirectory(prefix: "notify")
    }

    private func notifier(_ listener: NotifyListener, watchdog: String? = nil) -> ServiceNotifier {
        var environment = ["NOTIFY_SOCKET": listener.address, "WATCHDOG_PID": "7"]
        environment["WATCHDOG_USEC"] = watchdog
        return ServiceNotifier(environment: environment, processID: 7, logger: logger)
    }

    @Test("ready, status, reload and end arrive in order", arguments: [false, true])
    func order(isAbstract: Bool) async throws {
        let path = isAbstract ? "@outbox-test-\(UUID().uuidString)" : directory.path("socket")
        let listener = try NotifyListener(at: path)
        let notifier = notifier(listener)

        await notifier.starting()
        await notifier.ready(summary: { "nothing to do" })
        let ready = try await listener.wait(for: "STATUS=nothing to do")
        await notifier.whileReloading {}
        try await listener.wait(for: "READY=1", after: ready)
        await notifier.stopping()

        let first = listener.receive().compactMap { $0.split(separator: "=").first.map(String.init) }
        #expect(first.prefix(4) == ["READY", "STATUS", "RELOADING", "READY"])
        #expect(first.last == "STOPPING")
        #expect(listener.messages[2].contains("\nMONOTONIC_USEC="))
    }

    @Test("the watchdog is fed repeatedly while the agent answers")
    func watchdog() async throws {
        let listener = try NotifyListener(at: directory.path("socket"))
        let notifier = notifier(listener, watchdog: "100000")
        await notifier.ready(summary: { "well" })
        var seen = 0
        for _ in 0..<3 { seen = try await listener.wait(for: "WATCHDOG=1", after: seen) }
        await notifier.stopping()
    }

    @Test("the watchdog is no longer fed when the agent stops answering")
    func hang() async throws {
        let listener = try NotifyListener(at: directory.path("socket"))
        let log = RecordedLog()
        let notifier = ServiceNotifier(
            environment: ["NOTIFY_SOCKET": listener.address, "WATCHDOG_USEC": "100000"], processID: 7,
            logger: log.logger)
        let gate = AsyncStream<Void>.makeStream()
        await notifier.ready(summary: {
            for await _ in gate.stream {}
            return "awake again"
        })
        try await Poll.until("the complaint") { log.lines.contains { $0.hasPrefix("error ") } }
        #expect(listener.receive() == ["READY=1"])
        gate.continuation.finish()
        try await listener.wait(for: "WATCHDOG=1")
        await notifier.stopping()
    }

    @Test("a change of status is sent")
    func change() async throws {
        let listener = try NotifyListener(at: directory.path("socket"))
        let notifier = notifier(listener)
        let count = Atomic(0)
        await notifier.ready(summary: { "\(count.add(1, ordering: .relaxed).newValue)" })
        try await listener.wait(for: "STATUS=1")
        for _ in 0..<1000 { notifier.changed() }
        try await listener.wait(for: "STATUS=2")
        await notifier.stopping()
        #expect(count.load(ordering: .relaxed) <= 3, "a thousand changes are not a thousand questions")
    }

    @Test("without a service manager nothing happens", arguments: [[:], ["NOTIFY_SOCKET": "relative"]])
    func nobody(environment: [String: String]) async {
        let notifier = ServiceNotifier(environment: environment, logger: logger)
        await notifier.ready(summary: { "well" })
        await notifier.whileReloading {}
        await notifier.stopping()
    }

    @Test(
        "only a watchdog for this process counts",
        arguments: [
            (["WATCHDOG_USEC": "2000000"], Duration.seconds(2)),
            (["WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "7"], .seconds(2)),
            (["WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "8"], nil), (["WATCHDOG_USEC": "0"], nil),
            (["WATCHDOG_USEC": "soon"], nil), ([:], nil),
        ])
    func watchdogVariables(environment: [String: String], expected: Duration?) {
        #expect(ServiceNotifier.watchdog(environment, processID: 7) == expected)
    }
}
