import Reports
import Synchronization
import UploadCore

/// A backend with posts set by the test. Records the actions that clients request.
final class ScriptedSources: SourceBackend {
    struct State {
        var sources: [SourceReport] = []
        var wishes: [UserAction] = []
    }

    let state = Mutex(State())

    func sources() async -> [SourceReport] { state.withLock(\.sources) }

    func source(id: String) async -> SourceReport? { state.withLock { state in state.sources.first { $0.id == id } } }

    /// Pauses or queues a post whose state is not final. Refuses the action on any other post.
    func perform(_ wish: UserAction, onSource id: String) async -> ActionOutcome<SourceReport>? {
        state.withLock { state in
            state.wishes.append(wish)
            guard let index = state.sources.firstIndex(where: { $0.id == id }) else { return nil }
            guard !state.sources[index].state.isFinal else {
                return ActionOutcome(state.sources[index], refusal: "it is \"over\" already")
            }
            state.sources[index].state = .file(wish == .pause ? .paused : .queued)
            return ActionOutcome(state.sources[index])
        }
    }
}
