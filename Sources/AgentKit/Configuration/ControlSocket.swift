import Glibc

extension Configuration {
    /// The longest path a Unix socket can have, less its terminator (man 7 unix).
    static let longestSocketPath = 107

    /// The path of the control socket: the one configured, else `<state>/control.sock`, else, where that is too long for
    /// a socket, a short one of the same state directory under `runtimeDirectory`.
    ///
    /// - Parameter runtimeDirectory: `$XDG_RUNTIME_DIR`; without it `/tmp/outbox-<user id>` serves, which the agent
    ///   makes with mode 0700 and refuses when it belongs to somebody else.
    public func controlSocket(runtimeDirectory: String?) -> String {
        if let socket = control.socket { return socket }
        let usual = state + "/control.sock"
        guard usual.utf8.count > Self.longestSocketPath else { return usual }
        let given = runtimeDirectory.flatMap { $0.hasPrefix("/") ? $0 : nil }
        let directory = given ?? "/tmp/outbox-\(getuid())"
        return directory + "/outbox-" + String(Self.fingerprint(of: state), radix: 16) + ".sock"
    }

    /// 64-bit FNV-1a: the same for every run, so that all commands find the socket of their state directory.
    private static func fingerprint(of text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { hash, byte in (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
}
