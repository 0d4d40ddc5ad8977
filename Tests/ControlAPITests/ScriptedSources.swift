import Reports
import Synchronization
import UploadCore

@testable import ControlAPI

/// A backend that has the sources it is given and remembers what was wished.
final class ScriptedSources: SourceBackend {
    struct State {
        var sources: [SourceReport] = []
        var wishes: [UserAction] = []
    }

    let state = Mutex(State())

    func sources() async -> [SourceReport] { state.withLock(\.sources) }

    func source(id: String) async -> SourceReport? { state.withLock { state in state.sources.first { $0.id == id } } }

    /// Queues what is not final, and refuses the rest.
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
