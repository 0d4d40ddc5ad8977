import Glibc
import LinuxSystem
import SystemPackage

/// Damaged ledgers that were moved aside to `<state>/ledger.lmdb.damaged-<UTC time>`.
package struct DamagedLedgers: Sendable {
    /// Maximum number to keep: each may be as large as the ledger.
    private static let kept = 2

    let directory: String

    package init(directory: String) {
        self.directory = directory
    }
    private static let prefix = "ledger.lmdb.damaged-"

    /// Replaces the ledger with a new file and keeps the old one under another name. At every moment, either the old
    /// or the new ledger is in place.
    ///
    /// - Parameter time: seconds since 1970, for the name.
    /// - Returns: the path of the old ledger.
    /// - Throws: `Errno` of rename(2).
    func replace(_ ledger: String, with new: String, time: Int) throws(Errno) -> String {
        let aside = freeName(time)
        if link(ledger, aside) != 0 {
            // On file systems without hard links, there is no ledger for a moment.
            try retryingOnInterrupt { rename(ledger, aside) }
        }
        try place(new, as: ledger)
        return aside
    }

    /// Renames a new ledger to its final name.
    ///
    /// - Throws: `Errno` of rename(2).
    func place(_ new: String, as ledger: String) throws(Errno) {
        try retryingOnInterrupt { rename(new, ledger) }
        // The lock file belongs to readers of the old ledger. LMDB creates a new one.
        unlink(ledger + "-lock")
        unlink(new + "-lock")
        syncDirectory()
    }

    /// Removes all but the newest damaged ledgers.
    ///
    /// - Parameter latest: the ledger that was moved aside last. Clocks can be set back, so its name may not be the
    ///   latest one.
    func trim(keeping latest: String) {
        let others = names().map { "\(directory)/\($0)" }.filter { $0 != latest }
        for path in others.dropLast(Self.kept - 1) { unlink(path) }
    }

    /// Returns the names of the damaged ledgers, oldest first.
    package func names() -> [String] {
        let entries = (try? Directory(path: directory).entries()) ?? []
        return entries.map { String(decoding: $0.name, as: UTF8.self) }.filter { $0.hasPrefix(Self.prefix) }.sorted()
    }

    private func freeName(_ time: Int) -> String {
        var time = time
        while (try? FileStatus(path: "\(directory)/\(Self.prefix)\(Self.text(time))")) != nil { time += 1 }
        return "\(directory)/\(Self.prefix)\(Self.text(time))"
    }

    /// The time as `20261121T093000Z`.
    private static func text(_ time: Int) -> String {
        var seconds = time_t(time)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func digits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = "\(parts.tm_year + 1900)\(digits(parts.tm_mon + 1))\(digits(parts.tm_mday))"
        return "\(day)T\(digits(parts.tm_hour))\(digits(parts.tm_min))\(digits(parts.tm_sec))Z"
    }

    private func syncDirectory() {
        guard let opened = try? SharedDescriptor(opening: directory, flags: O_RDONLY | O_DIRECTORY) else { return }
        _ = fsync(opened.rawValue)
    }
}
