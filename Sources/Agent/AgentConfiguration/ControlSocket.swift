import Glibc

extension Configuration {
    /// Maximum length of a Unix socket's path in bytes, without the terminator (man 7 unix).
    static let longestSocketPath = 107

    /// Returns the path of the control socket: the configured path, or else `<state>/control.sock`. If that is too
    /// long for a socket, returns a short path under `runtimeDirectory`, derived from the state directory.
    ///
    /// - Parameter runtimeDirectory: `$XDG_RUNTIME_DIR`. The fallback is `/tmp/outbox-<user id>`, which the agent
    ///   creates with mode 0700 and refuses if another user owns the directory.
    package func controlSocket(runtimeDirectory: String?) -> String {
        if let socket = control.socket { return socket }
        let usual = state + "/control.sock"
        guard usual.utf8.count > Self.longestSocketPath else { return usual }
        let given = runtimeDirectory.flatMap { $0.hasPrefix("/") ? $0 : nil }
        let directory = given ?? "/tmp/outbox-\(getuid())"
        return directory + "/outbox-" + String(Self.fingerprint(of: state), radix: 16) + ".sock"
    }

    /// 64-bit FNV-1a. Equal in every run, so that all commands find the socket of their state directory.
    private static func fingerprint(of text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { hash, byte in (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
}
