import CLinux
import Glibc
import LinuxSystem
import SystemPackage

/// The file that tells the next start how this run parted with the ledger.
///
/// It is never synced: it tells of ends of the process, which the kernel's page cache survives. The end of the machine
/// shows by its boot id.
final class LedgerMarkFile: Sendable {
    private let file: SharedDescriptor
    private let boot: String

    /// Opens or creates the file, with mode 0600.
    ///
    /// - Throws: `Errno` of open(2).
    init(path: String, boot: String) throws(Errno) {
        file = try SharedDescriptor(opening: path, flags: O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
        self.boot = boot
    }

    /// What stands in it; nil where that makes no sense.
    func read() -> LedgerMark? {
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        return LedgerMark(line: String(decoding: bytes.prefix(count), as: UTF8.self))
    }

    /// Notes where this run stands. A mark that can't be written costs no more than a look at the ledger too many or
    /// too few.
    func note(_ phase: LedgerMark.Phase, crashes: Int) {
        let line = Array(LedgerMark(phase: phase, crashes: crashes, boot: boot).line.utf8)
        let written = line.withUnsafeBytes { pwrite(file.rawValue, $0.baseAddress, $0.count, 0) }
        if written == line.count { _ = ftruncate(file.rawValue, off_t(line.count)) }
    }

    /// Has a crash of this process noted. The file must stay open from here on: the handler knows its number only.
    func noteCrashes() {
        outbox_note_crashes(file.rawValue)
        _ = Unmanaged.passRetained(file)
    }

    /// Which start of the machine this is; empty where the kernel does not say.
    static func bootID() -> String {
        guard let file = try? SharedDescriptor(opening: "/proc/sys/kernel/random/boot_id", flags: O_RDONLY) else {
            return "unknown"
        }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        let text = String(decoding: bytes.prefix(count).prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
        return text.isEmpty ? "unknown" : text
    }
}
