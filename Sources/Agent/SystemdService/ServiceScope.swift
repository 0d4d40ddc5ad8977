package import LinuxSystem

/// The service manager that runs the agent.
package enum ServiceScope: Equatable, Sendable {
    /// The user's own service manager.
    case user
    /// The system's service manager. The agent runs as this user, never as root.
    case system(ServiceAccount)
}
