import CSandbox
import Foundation
import Glibc
import LinuxSystem
import PictureJobs
import SystemPackage
import TestSupport

/// A worker process started by a test, and the test's end of the socket.
final class WorkerProcess {
    let pid: pid_t
    let hello: PictureHello
    private let socket: SharedDescriptor
    private let directory: TemporaryDirectory
    private var lastID: UInt64 = 0
    private var isReaped = false

    /// Whether the program was built with libvips.
    static let isBuiltWithLibvips: Bool = {
        // If the program is missing, the tests must fail and not be skipped.
        guard let path = try? Program.path(of: "outbox-media") else { return true }
        return (try? Command.run(path, ["--version"]))?.output.contains("without libvips") != true
    }()

    init() throws {
        directory = try TemporaryDirectory(prefix: "media-worker")
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Errno(rawValue: errno)
        }
        socket = SharedDescriptor(Descriptor(owning: ends[0]))
        let workersEnd = SharedDescriptor(Descriptor(owning: ends[1]))
        // If the worker hangs, the test fails after 120 s instead of blocking.
        var patience = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, workersEnd.rawValue, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        // The agent's threads block all signals, and a child inherits the mask.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var everySignal = sigset_t()
        sigfillset(&everySignal)
        posix_spawnattr_setsigmask(&attributes, &everySignal)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var pid: pid_t = 0
        let path = try Program.path(of: "outbox-media")
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(path), nil]
        defer { free(arguments[0]) }
        var environment: [UnsafeMutablePointer<CChar>?] = [nil]
        let failure = posix_spawn(&pid, path, &actions, &attributes, &arguments, &environment)
        guard failure == 0 else { throw Errno(rawValue: failure) }
        self.pid = pid
        guard let packet = try DescriptorPacket.receive(from: ends[0], longest: PictureWire.longestPacket + 1) else {
            throw Errno.connectionReset
        }
        hello = try PictureWire.value(PictureHello.self, in: packet.bytes)
    }

    deinit {
        if isReaped { return }
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    /// Sends the packet unchanged.
    func send(_ packet: [UInt8], with descriptors: [SharedDescriptor] = []) throws {
        try DescriptorPacket.send(packet, with: descriptors, to: socket.rawValue)
    }

    /// Receives the next answer; nil if the worker has ended.
    func answer() throws -> PictureAnswer? {
        do {
            let packet = try DescriptorPacket.receive(from: socket.rawValue, longest: PictureWire.longestPacket + 1)
            return try packet.map { try PictureWire.value(PictureAnswer.self, in: $0.bytes) }
        } catch Errno.connectionReset {
            return nil
        }
    }

    /// The outcome of a job, and the bytes of the output.
    struct Result {
        var outcome: PictureAnswer.Outcome
        var output: [UInt8]
    }

    /// Does one job on the file at a path.
    @discardableResult
    func perform(
        _ operation: PictureJob.Operation, on path: String, maximumPixels: Int = 50_000_000
    ) throws -> Result {
        try perform(operation, on: try SharedDescriptor(opening: path, flags: O_RDONLY), maximumPixels: maximumPixels)
    }

    /// Does one job on bytes.
    @discardableResult
    func perform(
        _ operation: PictureJob.Operation, on bytes: [UInt8], maximumPixels: Int = 50_000_000
    ) throws -> Result {
        let path = directory.path("picture")
        try Data(bytes).write(to: URL(filePath: path))
        return try perform(operation, on: path, maximumPixels: maximumPixels)
    }

    /// Does one job on an open file.
    @discardableResult
    func perform(
        _ operation: PictureJob.Operation, on picture: SharedDescriptor, maximumPixels: Int = 50_000_000
    ) throws -> Result {
        let path = directory.path("output")
        let output = try SharedDescriptor(opening: path, flags: O_RDWR | O_CREAT | O_TRUNC, mode: 0o600)
        let outcome = try perform(operation, on: picture, into: output, maximumPixels: maximumPixels)
        return Result(outcome: outcome, output: Array(try Data(contentsOf: URL(filePath: path))))
    }

    /// Does one job on an open file, writing into another.
    func perform(
        _ operation: PictureJob.Operation, on picture: SharedDescriptor, into output: SharedDescriptor,
        maximumPixels: Int = 50_000_000
    ) throws -> PictureAnswer.Outcome {
        lastID += 1
        let job = PictureJob(id: lastID, operation: operation, maximumPixels: maximumPixels)
        try send(
            try PictureWire.packet(of: job), with: operation == .measure ? [picture] : [picture, output])
        guard let answer = try answer() else { throw Errno.connectionReset }
        guard answer.id == lastID else { throw Errno.badMessage }
        return answer.outcome
    }

    /// The value of a line in `/proc/PID/status`.
    func status(_ name: String) throws -> String {
        let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") } ?? ""
        return line.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
    }

    /// Number of open descriptors of the worker.
    func openDescriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
    }

    /// Closes the socket and waits for the worker.
    ///
    /// - Returns: the status from waitpid(2).
    func end() -> Int32 {
        shutdown(socket.rawValue, Int32(SHUT_RDWR))
        var status: Int32 = 0
        waitpid(pid, &status, 0)
        isReaped = true
        return status
    }
}
