import Glibc
import LinuxSystem
import Synchronization
import SystemPackage

/// Why a program that was run to its end gave nothing.
enum ToolFailure: Error, Equatable, Sendable {
    /// It ended with an error, or by a signal; the last line it said.
    case ended(ProcessEnding, String)
    /// It took longer than it was given, or wrote more.
    case killed(String)
    /// It could not be started.
    case notStarted(StartFailure)
    /// The task was cancelled.
    case cancelled
}

/// A program run to its end on a thread of its own, killed when it takes too long or the task is cancelled.
final class ToolRun: Sendable {
    private enum State {
        case waiting
        case running(LimitedProcess)
        case cancelled
    }

    private let state = Mutex<State>(.waiting)

    private init() {}

    /// Runs a program.
    ///
    /// - Parameters:
    ///   - program: absolute path.
    ///   - arguments: its arguments.
    ///   - input: its standard input.
    ///   - output: its standard output; nil: it is read, up to `longestOutput`.
    ///   - limits: what it may use.
    ///   - time: on the clock on the wall.
    /// - Returns: what it wrote to standard output, where no `output` was given.
    /// - Throws: ``ToolFailure`` unless it exited with 0.
    static func run(
        _ program: String, _ arguments: [String], input: SharedDescriptor, output: SharedDescriptor? = nil,
        limits: ProcessLimits, confinement: Confinement?, within time: Duration, longestOutput: Int = 1 << 16
    ) async throws(ToolFailure) -> [UInt8] {
        let run = ToolRun()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The child lives no longer than the thread that starts it, hence the same one for its whole life.
                startThread(name: "tool") {
                    continuation.resume(
                        returning: Result { () throws(ToolFailure) in
                            try run.perform(
                                program, arguments, input: input, output: output, limits: limits,
                                confinement: confinement, within: time, longestOutput: longestOutput)
                        })
                }
            }
        } onCancel: {
            run.cancel()
        }
        return try result.get()
    }

    private func cancel() {
        state.withLock { state in
            if case .running(let process) = state { process.kill() }
            state = .cancelled
        }
    }

    private var isCancelled: Bool {
        state.withLock { if case .cancelled = $0 { true } else { false } }
    }

    private func perform(
        _ program: String, _ arguments: [String], input: SharedDescriptor, output: SharedDescriptor?,
        limits: ProcessLimits, confinement: Confinement?, within time: Duration, longestOutput: Int
    ) throws(ToolFailure) -> [UInt8] {
        if isCancelled { throw .cancelled }
        var said = ToolOutput(longest: longestOutput)
        let process: LimitedProcess
        let pipes: (output: OutputPipe, errors: OutputPipe)
        do {
            pipes = (try OutputPipe(), try OutputPipe())
            let command = ProcessCommand(
                program: program, arguments: arguments,
                descriptors: [input, output ?? pipes.output.writing, pipes.errors.writing], limits: limits,
                confinement: confinement)
            process = try LimitedProcess(command)
        } catch {
            throw .notStarted(StartFailure(error, starting: program))
        }
        state.withLock { state in
            if case .cancelled = state { process.kill() } else { state = .running(process) }
        }
        said.read(pipes.output, pipes.errors, until: process, within: time)
        let ending = process.end()
        if isCancelled { throw .cancelled }
        let name = program.split(separator: "/").last ?? ""
        if said.isLate { throw .killed("\(name) took over \(time.components.seconds) s and was killed") }
        if said.isTooLong { throw .killed("\(name) said more than \(longestOutput) bytes and was killed") }
        guard ending == .exited(0) else { throw .ended(ending, said.errors.lastLine) }
        return said.output
    }
}

/// What a program says, read until it ends.
private struct ToolOutput {
    let longest: Int
    var output: [UInt8] = []
    var errors = TextTail()
    var isLate = false
    var isTooLong: Bool { output.count > longest }

    init(longest: Int) {
        self.longest = longest
    }

    /// Returns once the program has ended, or is to be killed. Its end counts, not the end of its output: what it left
    /// behind may hold that open.
    mutating func read(
        _ outputPipe: OutputPipe, _ errorPipe: OutputPipe, until process: LimitedProcess, within time: Duration
    ) {
        let deadline = monotonicNanoseconds() + UInt64(max(time, .zero) / .nanoseconds(1))
        while true {
            let ready = waitUntilReadable(
                [process.pollDescriptor, outputPipe.reading.rawValue, errorPipe.reading.rawValue], deadline: deadline)
            _ = outputPipe.drain { piece in if !isTooLong { output.append(contentsOf: piece) } }
            _ = errorPipe.drain { errors.append($0) }
            if ready[0] || isTooLong { return }
            isLate = monotonicNanoseconds() >= deadline
            if isLate { return }
        }
    }
}
