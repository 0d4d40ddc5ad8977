import URLs

/// Hosts that mean this machine.
public enum LoopbackHost {
    /// Returns whether a host means this machine (`HostName.isLoopback`).
    public static func isOne(_ host: String) -> Bool { HostName.isLoopback(host[...]) }
}
