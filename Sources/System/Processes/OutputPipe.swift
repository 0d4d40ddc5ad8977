import CLinux
import Glibc
package import LinuxSystem
package import SystemPackage

/// A pipe from a child to a thread of this process, which reads without blocking.
package struct OutputPipe: Sendable {
    /// The child's end, for writing.
    package let writing: SharedDescriptor
    /// This process's end, for poll(2) and reading.
    package let reading: SharedDescriptor

    /// Creates a pipe.
    ///
    /// - Throws: `Errno` of pipe2(2).
    package init() throws(Errno) {
        var ends: [Int32] = [-1, -1]
        try retryingOnInterrupt { pipe2(&ends, O_CLOEXEC) }
        reading = SharedDescriptor(Descriptor(owning: ends[0]))
        writing = SharedDescriptor(Descriptor(owning: ends[1]))
        try retryingOnInterrupt { outbox_fcntl(ends[0], F_SETFL, O_NONBLOCK) }
    }

    /// Passes the pipe's current content to `take`, in pieces.
    ///
    /// - Returns: Whether more may come; false after all writers closed their ends.
    package func drain(_ take: (ArraySlice<UInt8>) -> Void) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            guard let count = try? retryingOnInterrupt({ read(reading.rawValue, &buffer, buffer.count) }) else {
                return errno == EAGAIN
            }
            if count == 0 { return false }
            take(buffer[..<count])
        }
    }
}

/// Waits until one of the descriptors is readable or its other end is closed (man 2 poll).
///
/// - Parameters:
///   - descriptors: Negative ones are ignored.
///   - deadline: On CLOCK_MONOTONIC, in nanoseconds; nil: no deadline.
/// - Returns: Which descriptors are ready; none after the deadline.
package func waitUntilReadable(_ descriptors: [Int32], deadline: UInt64? = nil) -> [Bool] {
    var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while true {
        var milliseconds: Int32 = -1
        if let deadline {
            let now = monotonicNanoseconds()
            milliseconds = deadline <= now ? 0 : Int32(clamping: (deadline - now) / 1_000_000 + 1)
        }
        let count = poll(&polled, nfds_t(polled.count), milliseconds)
        // Any error but EINTR would be a bug here. The caller then looks again, until the deadline.
        if count >= 0 || errno != EINTR { return polled.map { $0.revents != 0 } }
    }
}

/// The last line of a program's standard error, in bounded memory.
package struct TextTail: Equatable, Sendable {
    private static let longest = 2048
    private static let longestLine = 300
    private var bytes: [UInt8] = []

    /// Creates an empty tail.
    package init() {}

    /// Appends output.
    package mutating func append(_ more: some Collection<UInt8>) {
        bytes.append(contentsOf: more.suffix(Self.longest))
        if bytes.count > Self.longest { bytes.removeFirst(bytes.count - Self.longest) }
    }

    /// The last non-blank line, with printable characters only; empty if there is none.
    package var lastLine: String {
        let lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        let line = lines.last { $0.contains { $0 > 0x20 } } ?? []
        let text = String(decoding: line, as: UTF8.self).unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        return String(String.UnicodeScalarView(text).prefix(Self.longestLine))
    }
}
