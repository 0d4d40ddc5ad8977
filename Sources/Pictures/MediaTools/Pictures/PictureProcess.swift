import Glibc
import LinuxSystem
import PictureJobs
import Processes
import Synchronization
import SystemPackage

/// One process of the picture worker. A thread of its own starts the process, listens to it and reaps it.
final class PictureProcess: Sendable {
    /// An event of the process; reported on its thread.
    enum Report: Sendable {
        /// The process is ready.
        case ready(PictureHello)
        /// The process answered; with its current memory in bytes.
        case answered(PictureAnswer, memory: Int)
        /// The process ended. No report follows.
        case ended(String, isProgramsFault: Bool)
    }

    private enum State {
        case new
        case running(LimitedProcess, socket: SharedDescriptor)
        case over
    }

    /// man 3 sysexits: the worker's exit code without libvips.
    private static let unavailable: Int32 = 69
    /// The dynamic linker's exit code if a library is missing.
    private static let notLinked: Int32 = 127

    private let program: String
    private let state = Mutex<State>(.new)

    /// - Parameter program: Absolute path of `outbox-media`.
    init(program: String) {
        self.program = program
    }

    /// Process id; nil while the process does not run.
    var pid: pid_t? {
        if case .running(let process, _) = state.withLock({ $0 }) { process.pid } else { nil }
    }

    /// Starts the process.
    ///
    /// - Parameter report: Called on the process's thread.
    func start(_ report: @escaping @Sendable (Report) -> Void) {
        startThread(name: "picture worker") {
            do {
                let (process, socket, errors) = try self.launch()
                self.listen(process, socket, errors, report)
            } catch {
                let failure = StartFailure(error, starting: self.program)
                self.state.withLock { $0 = .over }
                let advice =
                    failure.isProgramsFault ? "; install it beside outbox, or set OUTBOX_MEDIA to its path" : ""
                report(.ended(failure.description + advice, isProgramsFault: failure.isProgramsFault))
            }
        }
    }

    /// Sends a job. Never blocks, because the process has no other job.
    ///
    /// - Returns: False if the process has ended.
    func send(_ job: PictureJob, _ descriptors: [SharedDescriptor]) -> Bool {
        guard case .running(_, let socket) = state.withLock({ $0 }) else { return false }
        do {
            try DescriptorPacket.send(PictureWire.packet(of: job), with: descriptors, to: socket.rawValue)
            return true
        } catch {
            return false
        }
    }

    /// Shuts down the socket for writing. The process ends after its current job.
    func retire() {
        guard case .running(_, let socket) = state.withLock({ $0 }) else { return kill() }
        shutdown(socket.rawValue, Int32(SHUT_WR))
    }

    /// Kills the process.
    func kill() {
        state.withLock { state in
            if case .running(let process, _) = state { process.kill() } else { state = .over }
        }
    }

    private func launch() throws -> (LimitedProcess, SharedDescriptor, OutputPipe) {
        let errors = try OutputPipe()
        var ends: [Int32] = [-1, -1]
        try retryingOnInterrupt {
            socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
        }
        let socket = SharedDescriptor(Descriptor(owning: ends[0]))
        let childEnd = SharedDescriptor(Descriptor(owning: ends[1]))
        let nothing = try SharedDescriptor(opening: "/dev/null", flags: O_WRONLY)
        let command = ProcessCommand(
            program: program, arguments: [], descriptors: [childEnd, nothing, errors.writing],
            limits: PictureLimits.process)
        let process = try LimitedProcess(command)
        let isWanted = state.withLock { state in
            if case .over = state { return false }
            state = .running(process, socket: socket)
            return true
        }
        if !isWanted { process.kill() }
        return (process, socket, errors)
    }

    private func listen(
        _ process: LimitedProcess, _ socket: SharedDescriptor, _ errors: OutputPipe,
        _ report: @Sendable (Report) -> Void
    ) {
        var tail = TextTail()
        var watched = [socket.rawValue, errors.reading.rawValue]
        var trouble: String?
        var isReady = false
        let memory = ResidentMemory(of: process.pid)
        while trouble == nil {
            let ready = waitUntilReadable(watched)
            if ready[1], !errors.drain({ tail.append($0) }) { watched[1] = -1 }
            guard ready[0] else { continue }
            do {
                guard let news = try receive(from: socket, isReady: isReady, memory) else { break }
                isReady = true
                report(news)
            } catch {
                trouble = "it sent an invalid message"
            }
        }
        // The process may be about to end and report the reason.
        if trouble == nil {
            _ = waitUntilReadable([process.pollDescriptor], deadline: monotonicNanoseconds() + 1_000_000_000)
        }
        let ending = process.end()
        state.withLock { $0 = .over }
        _ = errors.drain { tail.append($0) }
        let said = tail.lastLine.isEmpty ? "" : ": \(tail.lastLine)"
        let isProgramsFault = ending == .exited(Self.unavailable) || ending == .exited(Self.notLinked)
        let what = trouble.map { "\(program): \($0)" } ?? "\(program) ended with \(ending)"
        report(.ended(what + said, isProgramsFault: isProgramsFault))
    }

    /// Receives the next packet; nil after the worker closed its end.
    private func receive(from socket: SharedDescriptor, isReady: Bool, _ memory: ResidentMemory) throws -> Report? {
        let packet: DescriptorPacket?
        do {
            packet = try DescriptorPacket.receive(from: socket.rawValue, longest: PictureWire.longestPacket)
        } catch Errno.connectionReset {
            return nil
        }
        guard let packet else { return nil }
        if packet.isCut { throw PictureWireError.tooLong }
        if isReady {
            let answer = try PictureWire.value(PictureAnswer.self, in: packet.bytes)
            if case .done(let facts) = answer.outcome, !facts.isPossible { throw PictureWireError.unreadable }
            return .answered(answer, memory: memory.bytes)
        }
        let hello = try PictureWire.value(PictureHello.self, in: packet.bytes)
        if hello.version != PictureWire.version { throw PictureWireError.unreadable }
        return .ready(hello)
    }
}

extension PictureFacts {
    /// Whether the values are plausible: an intact worker refuses longer sides.
    fileprivate var isPossible: Bool { (1...65535).contains(width) && (1...65535).contains(height) }
}

/// Resource limits of the picture worker, and time limits of its jobs.
enum PictureLimits {
    /// Limits of one process. The worker lowers them itself after loading its libraries, and limits processor time per
    /// job.
    static let process = ProcessLimits(processorSeconds: nil, addressSpace: 3 << 30, fileSize: 256 << 20)

    /// Elapsed time from sending a job to its answer.
    static func time(for operation: PictureJob.Operation) -> Duration {
        switch operation {
        case .measure: .seconds(5)
        case .thumbnail, .draw, .encode: .seconds(30)
        // All pixels of the largest pictures, beside uploads on a slow machine.
        case .compress: .seconds(120)
        }
    }
}
