import Glibc

/// A running `outbox-media`. Decodes pictures in a separate process, which opens no files, has no network and may
/// crash.
///
/// The worker's standard input is a packet socket (man 7 unix, SOCK_SEQPACKET). The worker sends a hello, then
/// answers jobs. A packet is text with a line for each field, and a job carries open files as descriptors. Not
/// thread-safe.
final class PictureWorker {
    /// The receive timeout in seconds. Longer than the worker's own limit of processor time per job.
    private static let patience = 90
    private static let longestPacket = 16 * 1024
    private static let mostPixels = 200_000_000

    private let process: pid_t
    private let socket: Int32
    private var lastJob: Int64 = 0

    /// Starts the program and waits for the worker's hello.
    /// - Returns: Nil if the program does not start.
    static func started(_ program: String) -> PictureWorker? {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            return nil
        }
        defer { close(ends[1]) }
        var limit = timeval(tv_sec: patience, tv_usec: 0)
        setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let worker = PictureWorker(process: start(program, input: ends[1]), socket: ends[0])
        // The hello says that the worker is ready and sandboxed.
        return worker.process > 0 && worker.receive() != nil ? worker : nil
    }

    private init(process: pid_t, socket: Int32) {
        self.process = process
        self.socket = socket
    }

    deinit {
        close(socket)
        guard process > 0 else { return }
        kill(process, SIGKILL)
        while waitpid(process, nil, 0) < 0, errno == EINTR {}
    }

    private static func start(_ program: String, input: Int32) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        let name = strdup(program)
        defer { free(name) }
        var child = pid_t()
        return posix_spawn(&child, program, &actions, nil, [name, nil], [nil]) == 0 ? child : -1
    }

    // MARK: Jobs

    /// The outcome of a job.
    enum Outcome {
        case done
        /// The file is no picture, or the picture is damaged.
        case refused
        /// The worker is unusable from now on.
        case lost
    }

    /// Draws a JPEG into an empty file.
    ///
    /// - Parameter operation: a line for each word, as `outbox-media` reads them.
    func draw(_ picture: OpenFile, _ operation: [String], into output: OpenFile) -> Outcome {
        lastJob += 1
        let job = (["\(lastJob)", "\(Self.mostPixels)"] + operation).joined(separator: "\n")
        guard send(Array(job.utf8), with: [picture.descriptor, output.descriptor]), let answer = receive() else {
            return .lost
        }
        let fields = answer.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard fields.count >= 3, fields[0].elementsEqual("\(lastJob)".utf8) else { return .lost }
        return fields[1].elementsEqual("done".utf8) ? .done : .refused
    }

    // MARK: Packets

    /// Sends a packet with descriptors (man 3 cmsg): a header of 16 bytes, then four bytes for each.
    private func send(_ packet: [UInt8], with descriptors: [Int32]) -> Bool {
        var packet = packet
        var control = [UInt64](repeating: 0, count: 2 + (descriptors.count + 1) / 2)
        return packet.withUnsafeMutableBytes { packet in
            control.withUnsafeMutableBytes { control in
                control.storeBytes(of: 16 + 4 * descriptors.count, as: Int.self)
                control.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: Int32.self)
                // SCM_RIGHTS
                control.storeBytes(of: 1, toByteOffset: 12, as: Int32.self)
                for (index, descriptor) in descriptors.enumerated() {
                    control.storeBytes(of: descriptor, toByteOffset: 16 + 4 * index, as: Int32.self)
                }
                var part = iovec(iov_base: packet.baseAddress, iov_len: packet.count)
                return withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    return sendmsg(socket, &message, Int32(MSG_NOSIGNAL)) == packet.count
                }
            }
        }
    }

    /// Returns nil if the worker has ended or exceeds the timeout.
    private func receive() -> [UInt8]? {
        var packet = [UInt8](repeating: 0, count: Self.longestPacket)
        let count = recv(socket, &packet, packet.count, 0)
        return count > 0 ? Array(packet[..<count]) : nil
    }
}
