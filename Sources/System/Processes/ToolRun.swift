import Glibc
package import LinuxSystem
import Synchronization
import SystemPackage

/// Why a program gave no result.
package enum ToolFailure: Error, Equatable, Sendable {
    /// The program ended with an error or by a signal; with its last line of output.
    case ended(ProcessEnding, String)
    /// The program exceeded its time or its output limit.
    case killed(String)
    /// The program could not be started.
    case notStarted(StartFailure)
    /// The task was cancelled.
    case cancelled
}

/// Runs a program to its end on a separate thread. Kills it at the time limit or when the task is cancelled.
package final class ToolRun: Sendable {
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
    ///   - program: Absolute path.
    ///   - arguments: Its arguments.
    ///   - input: Its standard input.
    ///   - output: Its standard output. If nil, this function reads the output, up to `longestOutput`.
    ///   - files: Its descriptors from 3 on.
    ///   - limits: Resource limits.
    ///   - time: Limit of the elapsed time.
    ///   - onOutput: Receives the standard output in pieces, on another thread, instead of the caller.
    /// - Returns: The standard output if `output` and `onOutput` are nil.
    /// - Throws: ``ToolFailure`` unless the program exited with 0.
    package static func run(
        _ program: String, _ arguments: [String], input: SharedDescriptor, output: SharedDescriptor? = nil,
        files: [SharedDescriptor] = [], limits: ProcessLimits, confinement: Confinement?, within time: Duration,
        longestOutput: Int = 1 << 16, onOutput: (@Sendable (ArraySlice<UInt8>) -> Void)? = nil
    ) async throws(ToolFailure) -> [UInt8] {
        let run = ToolRun()
        let said = ToolOutput(longest: longestOutput, onOutput: onOutput)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The child dies with the thread that started it, so one thread serves it for its whole life.
                startThread(name: "tool") {
                    continuation.resume(
                        returning: Result { () throws(ToolFailure) in
                            try run.perform(
                                program, arguments, input: input, output: output, files: files, limits: limits,
                                confinement: confinement, within: time, said)
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
        files: [SharedDescriptor], limits: ProcessLimits, confinement: Confinement?, within time: Duration,
        _ said: ToolOutput
    ) throws(ToolFailure) -> [UInt8] {
        if isCancelled { throw .cancelled }
        var said = said
        let process: LimitedProcess
        let pipes: (output: OutputPipe, errors: OutputPipe)
        do {
            pipes = (try OutputPipe(), try OutputPipe())
            let command = ProcessCommand(
                program: program, arguments: arguments,
                descriptors: [input, output ?? pipes.output.writing, pipes.errors.writing] + files, limits: limits,
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
        if said.isTooLong { throw .killed("\(name) printed more than \(said.longest) bytes and was killed") }
        guard ending == .exited(0) else { throw .ended(ending, said.errors.lastLine) }
        return said.output
    }
}

/// A program's output, read until the program ends.
private struct ToolOutput {
    let longest: Int
    let onOutput: (@Sendable (ArraySlice<UInt8>) -> Void)?
    var output: [UInt8] = []
    var errors = TextTail()
    var isLate = false
    var isTooLong: Bool { output.count > longest }

    init(longest: Int, onOutput: (@Sendable (ArraySlice<UInt8>) -> Void)?) {
        self.longest = longest
        self.onOutput = onOutput
    }

    /// Returns when the program has ended or must be killed. Waits for the program's end and not for the output's end,
    /// because a process left behind may hold the pipe open.
    mutating func read(
        _ outputPipe: OutputPipe, _ errorPipe: OutputPipe, until process: LimitedProcess, within time: Duration
    ) {
        let deadline = monotonicNanoseconds() + UInt64(max(time, .zero) / .nanoseconds(1))
        while true {
            let ready = waitUntilReadable(
                [process.pollDescriptor, outputPipe.reading.rawValue, errorPipe.reading.rawValue], deadline: deadline)
            _ = outputPipe.drain { piece in
                if let onOutput { onOutput(piece) } else if !isTooLong { output.append(contentsOf: piece) }
            }
            _ = errorPipe.drain { errors.append($0) }
            if ready[0] || isTooLong { return }
            isLate = monotonicNanoseconds() >= deadline
            if isLate { return }
        }
    }
}
