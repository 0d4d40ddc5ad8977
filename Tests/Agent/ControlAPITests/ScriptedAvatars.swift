import AgentTestSupport
import Reports
import Synchronization

@testable import ControlAPI

/// A mirror that gives the answers set by the test, and records the questions.
final class ScriptedAvatars: AvatarBackend {
    struct Question: Equatable {
        var url: String
        var style: String
        var patience: Duration
    }

    struct State {
        /// The answers, in order; the last answer repeats.
        var answers: [Result<ServedPicture, AvatarTrouble>] = [.failure(.init("pending", "it is being fetched"))]
        var questions: [Question] = []
        /// Whether answers wait for `release()`.
        var isHeld = false
        /// The number of questions cancelled while held.
        var cancellations = 0
        var cleared: [Duration?] = []
        var figures = AvatarFigures()
    }

    let state = Mutex(State())
    private let gate = AsyncStream<Void>.makeStream()

    /// Holds one question until the client cancels the question or the test calls `release()`.
    func hold() { state.withLock { $0.isHeld = true } }

    func release() { gate.continuation.finish() }

    func answer(_ answers: Result<ServedPicture, AvatarTrouble>...) {
        state.withLock { $0.answers = answers }
    }

    func picture(url: String, style: String, patience: Duration) async throws(AvatarTrouble) -> ServedPicture {
        let (answer, isHeld) = state.withLock { state in
            state.questions.append(Question(url: url, style: style, patience: patience))
            return (state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0], state.isHeld)
        }
        if isHeld {
            for await _ in gate.stream {}
            if Task.isCancelled {
                state.withLock { $0.cancellations += 1 }
                throw AvatarTrouble("cancelled", "nobody waits any more")
            }
        }
        return try answer.get()
    }

    func list() async throws(AvatarTrouble) -> AvatarList { .sample }

    func clear(olderThan age: Duration?) async throws(AvatarTrouble) -> AvatarClearance {
        state.withLock { $0.cleared.append(age) }
        return AvatarClearance(removed: ["https://example.org/42.jpg"], bytes: 1234)
    }

    func figures() async -> AvatarFigures { state.withLock(\.figures) }
}

/// A backend that returns the profile text set by the test.
final class ScriptedProfile: ProfileBackend {
    let text = Mutex("{\"portraitURL\":null,\"current\":null,\"pending\":null}")

    func profileText() async -> [UInt8] { text.withLock { Array($0.utf8) } }
}
