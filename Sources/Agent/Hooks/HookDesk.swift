package import AgentConfiguration
package import Clocks
package import Ledger
package import Logging
package import Reports
package import Transport
import UploadCore

/// All hooks of the agent.
package final class HookDesk: Sendable {
    /// After failing for so long, a hook needs a person.
    private static let patience = Duration.seconds(3600)

    private let runners: [HookRunner]
    private let clock: any Clocks

    /// - Throws: `LedgerError` if the positions of the hooks can't be read.
    package init(
        _ hooks: [Configuration.Hook], ledger: Ledger, transport: any HTTPTransport, environment: [String: String],
        ceiling: Duration, clock: any Clocks, logger: Logger
    ) throws(LedgerError) {
        let parts = HookRunner.Parts(
            ledger: ledger, transport: transport, environment: environment, ceiling: ceiling, clock: clock,
            logger: logger)
        var runners: [HookRunner] = []
        for hook in hooks { runners.append(try HookRunner(hook, parts)) }
        self.runners = runners
        self.clock = clock
    }

    /// Whether some hook asks for an event of the agent itself.
    package var wantsConditions: Bool {
        runners.contains { !$0.hook.events.isDisjoint(with: [.idle, .trouble, .recovered]) }
    }

    /// The journal may have grown.
    package func wake() { for runner in runners { runner.wake() } }

    /// The network came back.
    package func hurry() { for runner in runners { runner.hurry() } }

    /// Begins no further call. Calls under way end with the process.
    package func stop() { for runner in runners { runner.stop() } }

    /// The first row of the journal that a hook may still need.
    package var firstNeeded: UInt64 { runners.map(\.firstNeeded).min() ?? .max }

    /// What the hooks do now.
    package var statuses: [HookStatus] { runners.map(\.status) }

    /// What needs a person; nil if all is well.
    package var trouble: String? {
        let now = clock.now.monotonic
        let failing = runners.first { $0.failingSince.map { now - $0 >= Self.patience } ?? false }
        guard let status = failing?.status else { return nil }
        return "the hook \(status.name) has failed for over an hour: \(status.error ?? ""); see `outbox hooks`"
    }

    /// Sends a made-up outcome to a hook; nil if there is none of this name.
    package func test(_ name: String) async -> HookTest? {
        await runner(name)?.test()
    }

    /// Gives up what waits for a hook.
    ///
    /// - Returns: whether there is a hook of this name.
    package func skip(_ name: String) async -> Bool {
        guard let runner = runner(name) else { return false }
        await runner.skip()
        return true
    }

    private func runner(_ name: String) -> HookRunner? { runners.first { $0.hook.name == name } }
}
