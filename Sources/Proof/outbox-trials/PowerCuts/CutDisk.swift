import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// A file system on a ``VolatileDisk``, mounted at a directory.
final class CutDisk {
    /// Kinds of file systems, with the names of `mkfs.KIND` and mount(8).
    enum Kind: String, CaseIterable {
        case ext4, xfs, btrfs

        fileprivate var options: [String] {
            switch self {
            // No discards, and all tables written at once: fewer writes that do not matter for the trial.
            case .ext4: ["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", "-J", "size=8"]
            case .xfs: ["-q", "-f", "-K"]
            case .btrfs: ["-q", "-f", "-K"]
            }
        }

        /// Options of mount(8). XFS refuses a second file system with the same identifier. After a cut, the old one
        /// may still be mounted in another mount namespace.
        fileprivate var mountOptions: [String] { self == .xfs ? ["-o", "nouuid"] : [] }
    }

    static let size = 512 << 20

    let kind: Kind
    let disk: VolatileDisk
    /// The mount point of the file system.
    let directory: String
    private let carrier: String
    private var loop: String?
    private var isMounted = false

    /// The kinds that this machine can create and mount.
    static var available: [Kind] {
        let known = (try? String(contentsOfFile: "/proc/filesystems", encoding: .utf8)) ?? ""
        let names = Set(known.split(whereSeparator: \.isWhitespace).map(String.init))
        return Kind.allCases.filter { names.contains($0.rawValue) && program("mkfs.\($0.rawValue)") != nil }
    }

    /// - Throws: ``Missing`` if the machine cannot provide the disk.
    init(_ kind: Kind, in place: String, name: String) async throws {
        guard geteuid() == 0 else { throw Missing("block devices need root") }
        for needed in ["losetup", "mount", "umount"] where Self.program(needed) == nil {
            throw Missing("\(needed)(8) is not installed")
        }
        self.kind = kind
        disk = try VolatileDisk(size: Self.size)
        directory = "\(place)/\(name)"
        carrier = "\(place)/\(name).carrier"
        for path in [directory, carrier] { try Files.makeDirectory(path) }
        do {
            try disk.attach(at: carrier)
            let loop = try await attachLoop()
            try await Self.run("mkfs.\(kind.rawValue)", kind.options + [loop])
            try await mount()
        } catch {
            await remove()
            throw Missing("\(error)")
        }
    }

    /// Mounts the file system again after a cut, which replays its journal.
    ///
    /// - Parameter share: The share of unflushed writes to lose.
    /// - Returns: The number of writes that no flush had covered.
    func recover(losing share: Double, random: inout SeededRandom) async throws -> Int {
        await remove()
        let lost = disk.lose(share, random: &random)
        try disk.attach(at: carrier)
        try await attachLoop()
        try await mount()
        return lost
    }

    @discardableResult
    private func attachLoop() async throws -> String {
        let output = try await Self.run("losetup", ["--find", "--show", "\(carrier)/disk"])
        let loop = output.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
        self.loop = loop
        return loop
    }

    private func mount() async throws {
        guard let loop else { throw Missing("no loop device") }
        try await Self.run("mount", ["-t", kind.rawValue] + kind.mountOptions + [loop, directory])
        isMounted = true
    }

    /// Unmounts and detaches everything, in any state.
    func remove() async {
        disk.fail()
        if isMounted { await Self.insist("umount", [directory]) }
        isMounted = false
        if let loop { await Self.insist("losetup", ["--detach", loop]) }
        loop = nil
        // Lazily, because another mount namespace may still use the disk's file systems.
        _ = try? await Self.run("umount", ["--lazy", carrier])
    }

    /// Retries for a while: a killed program releases its files a moment later.
    private static func insist(_ name: String, _ arguments: [String]) async {
        do {
            try await Poll.until(name, timeout: .seconds(20), every: .milliseconds(20)) {
                (try? await run(name, arguments)) != nil
            }
        } catch {
            if name == "umount" { _ = try? await run(name, ["--lazy"] + arguments) }
        }
    }

    @discardableResult
    private static func run(_ name: String, _ arguments: [String]) async throws -> Program.Output {
        guard let program = program(name) else { throw Missing("\(name)(8) is not installed") }
        let output = try await Program.run(
            program, arguments, environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C"], directory: "/")
        guard output.code == 0 else {
            throw Missing("\(name) \(arguments.joined(separator: " ")): \(output.standardError)")
        }
        return output
    }

    private static func program(_ name: String) -> String? {
        ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
