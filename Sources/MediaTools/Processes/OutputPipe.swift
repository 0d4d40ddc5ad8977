import CLinux
import Glibc
import LinuxSystem
import SystemPackage

/// A pipe that a child writes to and a thread of this process reads from, without ever waiting in a read.
struct OutputPipe: Sendable {
    /// The child's end.
    let writing: SharedDescriptor
    /// This process's end, for poll(2).
    let reading: SharedDescriptor

    /// Makes a pipe.
    ///
    /// - Throws: `Errno` of pipe2(2).
    init() throws(Errno) {
        var ends: [Int32] = [-1, -1]
        try retryingOnInterrupt { pipe2(&ends, O_CLOEXEC) }
        reading = SharedDescriptor(Descriptor(owning: ends[0]))
        writing = SharedDescriptor(Descriptor(owning: ends[1]))
        try retryingOnInterrupt { outbox_fcntl(ends[0], F_SETFL, O_NONBLOCK) }
    }

    /// Hands over what is in the pipe by now, in pieces.
    ///
    /// - Returns: whether more may come: false once nobody can write any longer.
    func drain(_ take: (ArraySlice<UInt8>) -> Void) -> Bool {
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

/// Waits until one of some descriptors is readable or closed at its other end (man 2 poll).
///
/// - Parameters:
///   - descriptors: negative ones are passed over.
///   - deadline: on CLOCK_MONOTONIC, in nanoseconds; nil: for ever.
/// - Returns: which are ready; none once the deadline is over.
func waitUntilReadable(_ descriptors: [Int32], deadline: UInt64? = nil) -> [Bool] {
    var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while true {
        var milliseconds: Int32 = -1
        if let deadline {
            let now = monotonicNanoseconds()
            milliseconds = deadline <= now ? 0 : Int32(clamping: (deadline - now) / 1_000_000 + 1)
        }
        let count = poll(&polled, nfds_t(polled.count), milliseconds)
        // Anything but EINTR would be an error of this program; treated as "look again", which the deadline ends.
        if count >= 0 || errno != EINTR { return polled.map { $0.revents != 0 } }
    }
}
