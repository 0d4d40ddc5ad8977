import Glibc

/// Finds what the service manager passes to the receiver (man 5 systemd.exec, "CREDENTIALS").
enum Credential {
    /// Returns the path of a credential; nil without one. systemd copies it at the start of the service, so a change
    /// needs a restart.
    static func path(_ name: String) -> String? {
        guard let directory = getenv("CREDENTIALS_DIRECTORY").map({ String(cString: $0) }) else { return nil }
        let path = directory + "/\(name)"
        return access(path, F_OK) == 0 ? path : nil
    }
}
