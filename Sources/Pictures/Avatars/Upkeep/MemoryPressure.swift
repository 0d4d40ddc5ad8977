import CLinux
import Glibc
import LinuxSystem

/// Warns when the machine runs low on memory.
public protocol MemoryPressureSource: Sendable {
    /// The method of detection, for the log.
    var description: String { get }

    /// Yields whenever memory is low, until the listener goes away.
    func warnings() -> AsyncStream<Void>
}

/// Uses the kernel's pressure stall information (Documentation/accounting/psi.rst) if available, otherwise checks the
/// available memory once a minute.
public struct KernelMemoryPressure: MemoryPressureSource {
    /// A task waited for memory for 200 ms within 2 s. Windows that are multiples of 2 s need no privilege.
    private static let trigger = "some 200000 2000000"
    /// Memory is low if less than 1/20 is available.
    private static let shortage: UInt64 = 20

    private let pressureFile: String
    private let memoryFile: String
    private let trigger: SharedDescriptor?

    /// Registers a trigger with the kernel if possible.
    ///
    /// - Parameters:
    ///   - pressureFile: The file of the machine, or of a control group.
    ///   - memoryFile: The file with `MemTotal` and `MemAvailable` (man 5 proc).
    public init(pressureFile: String = "/proc/pressure/memory", memoryFile: String = "/proc/meminfo") {
        self.pressureFile = pressureFile
        self.memoryFile = memoryFile
        trigger = Self.register(pressureFile)
    }

    /// The method of detection.
    public var description: String {
        trigger != nil ? "a trigger on \(pressureFile)" : "reading \(memoryFile) every 60 s"
    }

    /// See ``MemoryPressureSource/warnings()``.
    public func warnings() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let raw = outbox_eventfd()
        if raw < 0 {
            continuation.finish()
            return stream
        }
        let ending = SharedDescriptor(Descriptor(owning: raw))
        continuation.onTermination = { _ in _ = eventfd_write(ending.rawValue, 1) }
        startThread(name: "memory-pressure") { [self] in
            var trigger = trigger
            while let isShort = wait(for: ending, or: &trigger) {
                if isShort { continuation.yield() }
            }
            continuation.finish()
        }
        return stream
    }

    /// Waits for the kernel, or for a minute.
    ///
    /// - Parameter trigger: Set to nil if the kernel dropped the trigger.
    /// - Returns: Whether memory is low; nil at the end.
    private func wait(for ending: SharedDescriptor, or trigger: inout SharedDescriptor?) -> Bool? {
        var entries = [
            pollfd(fd: ending.rawValue, events: Int16(POLLIN), revents: 0),
            // A negative descriptor is ignored (man 2 poll).
            pollfd(fd: trigger?.rawValue ?? -1, events: Int16(POLLPRI), revents: 0),
        ]
        _ = poll(&entries, nfds_t(entries.count), trigger == nil ? 60_000 : -1)
        if entries[0].revents != 0 { return nil }
        guard trigger != nil else { return isShort }
        // POLLERR: the control group was removed, and poll would always return at once.
        if Int32(entries[1].revents) & Int32(POLLERR) != 0 {
            trigger = nil
            return isShort
        }
        return Int32(entries[1].revents) & Int32(POLLPRI) != 0
    }

    private static func register(_ path: String) -> SharedDescriptor? {
        // The trigger lives as long as the file is open. Its text ends with a NUL byte.
        guard let file = try? SharedDescriptor(opening: path, flags: O_RDWR | O_NONBLOCK) else { return nil }
        do {
            try writeAll(Array(trigger.utf8) + [0], to: file.rawValue)
            return file
        } catch {
            return nil
        }
    }

    /// Whether less than 1/20 of the memory is available now.
    var isShort: Bool {
        guard let file = try? SharedDescriptor(opening: memoryFile, flags: O_RDONLY) else { return false }
        let text = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { buffer in
            let count = (try? file.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)) ?? 0
            return String(decoding: buffer[..<count], as: UTF8.self)
        }
        guard let total = Self.kibibytes("MemTotal:", in: text), let free = Self.kibibytes("MemAvailable:", in: text)
        else { return false }
        return free < total / Self.shortage
    }

    private static func kibibytes(_ name: String, in text: String) -> UInt64? {
        text.split(separator: "\n").first { $0.hasPrefix(name) }
            .flatMap { $0.split(separator: " ").dropFirst().first }.flatMap { UInt64($0) }
    }
}
