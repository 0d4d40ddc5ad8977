import CLinux
import Glibc
import LinuxSystem
import SystemPackage

/// The file that tells the next start how this run left the ledger.
///
/// The file is never synced. The kernel's page cache survives the end of a process, and the boot id reveals a restart
/// of the machine.
package final class LedgerMarkFile: Sendable {
    private let file: SharedDescriptor
    private let boot: String

    /// Opens or creates the file, with mode 0600.
    ///
    /// - Throws: `Errno` of open(2).
    init(path: String, boot: String) throws(Errno) {
        file = try SharedDescriptor(opening: path, flags: O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
        self.boot = boot
    }

    /// Opens the file of another process, for reading.
    ///
    /// - Throws: `Errno` of open(2).
    init(reading path: String, boot: String) throws(Errno) {
        file = try SharedDescriptor(opening: path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        self.boot = boot
    }

    /// Returns the mark; `nil` if the file holds none.
    func read() -> LedgerMark? {
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        return LedgerMark(line: String(decoding: bytes.prefix(count), as: UTF8.self))
    }

    /// Records the phase of this run. If the write fails, the next start may inspect the ledger needlessly, or skip
    /// an inspection.
    func note(_ phase: LedgerMark.Phase, crashes: Int) {
        let line = Array(LedgerMark(phase: phase, crashes: crashes, boot: boot).line.utf8)
        let written = line.withUnsafeBytes { pwrite(file.rawValue, $0.baseAddress, $0.count, 0) }
        if written == line.count { _ = ftruncate(file.rawValue, off_t(line.count)) }
    }

    /// Makes the signal handler record a crash of this process. The file stays open from here on, because the handler
    /// knows only its descriptor number.
    func noteCrashes() {
        outbox_note_crashes(file.rawValue)
        _ = Unmanaged.passRetained(file)
    }

    /// Returns the boot id of the machine; `unknown` if the kernel provides none.
    package static func bootID() -> String {
        guard let file = try? SharedDescriptor(opening: "/proc/sys/kernel/random/boot_id", flags: O_RDONLY) else {
            return "unknown"
        }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        let text = String(decoding: bytes.prefix(count).prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
        return text.isEmpty ? "unknown" : text
    }
}
