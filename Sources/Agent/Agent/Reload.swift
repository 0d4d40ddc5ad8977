package import AgentConfiguration
import FoundationEssentials
import Logging
import ServiceLifecycle
import Synchronization
import SystemdService
import UnixSignals

/// How a running agent reads a new configuration.
package struct ConfigurationSource: Sendable {
    /// The configuration at the start of the agent.
    var initial: EffectiveConfiguration
    /// Reads the configuration again from the same place.
    var read: @Sendable () throws -> EffectiveConfiguration
    /// Changes the least severe level to log.
    var setLogLevel: @Sendable (Configuration.LogLevel) -> Void

    /// Creates a source of configurations.
    package init(
        initial: EffectiveConfiguration, read: @escaping @Sendable () throws -> EffectiveConfiguration,
        setLogLevel: @escaping @Sendable (Configuration.LogLevel) -> Void
    ) {
        self.initial = initial
        self.read = read
        self.setLogLevel = setLogLevel
    }
}

/// The settings in force, for the control interface.
final class SettingsInForce: Sendable {
    private let effective: Mutex<EffectiveConfiguration>

    init(_ effective: EffectiveConfiguration) { self.effective = Mutex(effective) }

    /// Adopts the live keys of a new configuration.
    func adopt(_ new: EffectiveConfiguration) {
        effective.withLock { $0 = $0.withLiveSettings(of: new) }
    }

    /// The settings as `outbox config check --json` prints them.
    var json: [UInt8] {
        let effective = effective.withLock { $0 }
        return (try? JSONEncoder().encode(effective)).map(Array.init) ?? Array("{}".utf8)
    }
}

/// Adopts the live keys on SIGHUP: limits, log level, token.
struct ReloadService: Service {
    /// SIGHUP, trapped before the agent's first answer, since a user may send it right after that answer.
    let signals: UnixSignalsSequence
    let source: ConfigurationSource
    let notifier: ServiceNotifier
    let settings: SettingsInForce
    /// Receives the resulting configuration.
    let adopt: @Sendable (Configuration) -> Void
    let logger: Logger

    func run() async throws {
        for await _ in signals.cancelOnGracefulShutdown() {
            await notifier.whileReloading { reload() }
        }
    }

    private func reload() {
        let new: EffectiveConfiguration
        do {
            new = try source.read()
        } catch {
            logger.error(
                "the new configuration has an error, so the agent keeps the old one; run `outbox config check`",
                metadata: ["reason": "\(error)"])
            return
        }
        let (configuration, needRestart) = source.initial.adoptingLiveKeys(of: new)
        settings.adopt(new)
        source.setLogLevel(configuration.log.level)
        adopt(configuration)
        logger.notice("the configuration is reloaded", metadata: ["file": "\(new.file ?? "none")"])
        if !needRestart.isEmpty {
            logger.warning(
                "these keys take effect at the next start",
                metadata: ["keys": "\(needRestart.joined(separator: ", "))"])
        }
    }
}
