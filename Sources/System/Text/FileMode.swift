/// Permission bits in messages.
package enum FileMode {
    /// Formats permission bits as chmod(1) takes them: `0700`.
    package static func shown(_ permissions: UInt32) -> String {
        let digits = String(permissions & 0o7777, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }
}
