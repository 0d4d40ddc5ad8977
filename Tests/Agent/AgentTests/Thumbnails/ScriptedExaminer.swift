import Intake
import LinuxSystem
import Synchronization
import TestSupport
import UploadCore

/// Returns the same facts for every file, once the test releases the answers.
final class ScriptedExaminer: MediaExamining {
    private struct State {
        var isHeld = false
        var questions = 0
        var made = 0
        var thumbnails: Set<ContentKey> = []
    }

    private let answer: MediaFacts?
    private let state = Mutex(State())

    init(facts: MediaFacts?) { answer = facts }

    let drawsThumbnails = true

    func thumbnails() async -> [ContentKey] { Array(thumbnails) }

    var questions: Int { state.withLock { $0.questions } }
    var thumbnails: Set<ContentKey> { state.withLock { $0.thumbnails } }
    var thumbnailsMade: Int { state.withLock { $0.made } }

    func add(_ key: ContentKey) { state.withLock { _ = $0.thumbnails.insert(key) } }
    func hold() { state.withLock { $0.isHeld = true } }
    func release() { state.withLock { $0.isHeld = false } }

    func measure(_ file: SharedDescriptor, _ type: MediaType) async -> MediaFacts? {
        state.withLock { $0.questions += 1 }
        try? await Poll.until("the examiner may answer") { !self.state.withLock { $0.isHeld } }
        return answer
    }

    func drawThumbnail(
        of file: SharedDescriptor, _ type: MediaType, key: ContentKey, duration: Double?
    ) async -> Bool {
        guard answer != nil else { return false }
        return state.withLock { state in
            if state.thumbnails.insert(key).inserted { state.made += 1 }
            return true
        }
    }

    func dropThumbnail(of key: ContentKey) { state.withLock { _ = $0.thumbnails.remove(key) } }
}
