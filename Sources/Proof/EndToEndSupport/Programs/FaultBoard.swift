import Foundation
import Glibc

/// The trial's side of `FaultPreload`: makes system calls of the agent fail, kills the agent at a chosen call, shifts
/// its clocks.
///
/// FaultPreload.h describes the file format.
package final class FaultBoard {
    /// Selects the calls that fail, or at which the program is killed.
    package struct Rule {
        package enum Action: String {
            case killBefore = "kill-before"
            case killAfter = "kill-after"
            case noSpace = "ENOSPC"
            case inputOutputError = "EIO"
            case notConnected = "ENOTCONN"
            /// The call hangs while ``failing`` is true.
            case hang
        }

        /// The functions that write to an open file.
        package static let writes = ["write", "writev", "pwrite", "pwritev", "fsync", "fdatasync", "ftruncate"]

        let action: Action
        let functions: [String]
        let calls: ClosedRange<Int>
        let pattern: String

        /// - Parameters:
        ///   - functions: The names of the functions, as in FaultPreload.h.
        ///   - calls: The range of matching calls, counted from 1.
        ///   - pattern: A pattern for paths or URLs; `*` also matches `/`.
        package init(_ action: Action, _ functions: [String], calls: ClosedRange<Int>, of pattern: String) {
            self.action = action
            self.functions = functions
            self.calls = calls
            self.pattern = pattern
        }

        var text: String {
            "\(action.rawValue) \(functions.joined(separator: "|")) \(calls.lowerBound)-\(calls.upperBound) \(pattern)"
        }
    }

    private let descriptor: Int32
    private let path: String
    private let library: String

    /// - Throws: ``Surprise`` if the file cannot be created or the library was not built.
    package init(in directory: String) throws {
        library = try Self.findLibrary()
        path = "\(directory)/fault-board"
        descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0, ftruncate(descriptor, 64) == 0 else { throw Surprise("\(path): errno \(errno)") }
    }

    deinit { close(descriptor) }

    /// Returns the environment variables that subject a program to these rules.
    package func environment(_ rules: [Rule]) -> [String: String] {
        [
            "LD_PRELOAD": library, "FAULT_BOARD": path,
            "FAULT_RULES": rules.map(\.text).joined(separator: "\n"),
        ]
    }

    /// Whether the rules for failing calls are active.
    package var failing: Bool {
        get { read(UInt32.self, at: 0) != 0 }
        set { write(UInt32(newValue ? 1 : 0), at: 0) }
    }

    /// The number of times any rule was applied, over all programs with this board.
    package var carriedOut: Int { Int(read(UInt64.self, at: 8)) }

    /// Sets the offsets of the wall clock and of the clock since boot, in seconds.
    package func moveClocks(wall: Int64, boot: Int64 = 0) {
        write(wall, at: 16)
        write(boot, at: 24)
    }

    private func read<Value: FixedWidthInteger>(_: Value.Type, at offset: Int) -> Value {
        var value: Value = 0
        pread(descriptor, &value, MemoryLayout<Value>.size, offset)
        return value
    }

    private func write<Value: FixedWidthInteger>(_ value: Value, at offset: Int) {
        var value = value
        pwrite(descriptor, &value, MemoryLayout<Value>.size, offset)
    }

    private static func findLibrary() throws -> String {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let places: [String?] = [
            URL(fileURLWithPath: own).deletingLastPathComponent().path,
            ProcessInfo.processInfo.environment["OUTBOX_BIN_DIR"],
        ]
        for place in places.compactMap({ $0 }) {
            let path = "\(place)/libFaultPreload.so"
            if FileManager.default.fileExists(atPath: path) { return path }
        }
        throw Surprise("no libFaultPreload.so beside \(own): build it first")
    }
}
