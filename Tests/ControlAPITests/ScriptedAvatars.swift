import AgentTestSupport
import Reports
import Synchronization

@testable import ControlAPI

/// A mirror that answers as it is told, and remembers what it was asked.
final class ScriptedAvatars: AvatarBackend {
    struct Question: Equatable {
        var url: String
        var style: String
        var patience: Duration
    }

    struct State {
        /// Answers in order; the last one stays.
        var answers: [Result<ServedPicture, AvatarTrouble>] = [.failure(.init("pending", "it is being fetched"))]
        var questions: [Question] = []
        /// Whether answers wait for `release()`.
        var isHeld = false
        /// Questions that were cancelled while they were held.
        var cancellations = 0
        var cleared: [Duration?] = []
        var figures = AvatarFigures()
    }

    let state = Mutex(State())
    private let gate = AsyncStream<Void>.makeStream()

    /// Lets one question wait until it is cancelled or `release()` is called.
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

/// A portrait as it is told.
final class ScriptedProfile: ProfileBackend {
    let text = Mutex("{\"portraitURL\":null,\"current\":null,\"pending\":null}")

    func profileText() async -> [UInt8] { text.withLock { Array($0.utf8) } }
}
