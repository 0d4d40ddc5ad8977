/// What to do with one sidecar.
enum SidecarOrder: Sendable {
    case write(Sidecar)
    /// Writes the sidecar only if there is none, or if the existing one does not show this outcome.
    case repair(Sidecar)
    case remove
    /// Removes a file that is no longer the sidecar of a path.
    indirect case discard(StraySidecar)
}
