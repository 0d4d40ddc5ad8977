import Glibc
import LinuxSystem
import Products
import Synchronization
import UploadCore

/// A step that keeps the first half of a file, and does what the test says.
final class ScriptedStep: ProductStep {
    enum Answer: Equatable, Sendable {
        case half, unchanged, fails(ProductFailure)
    }

    private struct State {
        var answer = Answer.half
        var inputs: [UInt64] = []
        var isHeld = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ answer: Answer = .half) {
        state = Mutex(State(answer: answer))
    }

    var missing: String? { nil }
    /// The sizes of the files that the step got, in order.
    var inputs: [UInt64] { state.withLock { $0.inputs } }

    /// Whether a file waits in the step.
    var isHolding: Bool { state.withLock { !$0.waiting.isEmpty } }

    func answer(_ answer: Answer) { state.withLock { $0.answer = answer } }
    func hold() { state.withLock { $0.isHeld = true } }

    func release() {
        let waiting = state.withLock { state in
            state.isHeld = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func perform(
        on input: ProductInput, into output: SharedDescriptor, scratch: String,
        progress: @escaping @Sendable (Double) -> Void
    ) async throws(ProductFailure) -> StepOutcome {
        progress(0.5)
        let answer = state.withLock { state in
            state.inputs.append(input.size)
            return state.answer
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    if state.isHeld { state.waiting.append(continuation) }
                    return !state.isHeld
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            release()
        }
        if Task.isCancelled { throw .cancelled }
        switch answer {
        case .unchanged: return .unchanged
        case .fails(let failure): throw failure
        case .half: break
        }
        var bytes = [UInt8](repeating: 0, count: Int(input.size / 2))
        let count = bytes.withUnsafeMutableBytes { pread(input.file.rawValue, $0.baseAddress, $0.count, 0) }
        guard count == bytes.count, pwrite(output.rawValue, bytes, count, 0) == count else { throw .failed("short") }
        return .made(MediaType(kind: .image, mime: "image/jpeg"))
    }
}
