import Synchronization
import UploadCore

/// Decides which small contents are sent without a HEAD before the PUT, which halves their requests.
///
/// Such a PUT relies on `If-None-Match: *`: a store that honours it answers 412 instead of overwriting. Not every store
/// does, so the remote first sends an object of its own again, with the same bytes. A 412 proves that the store honours
/// the condition; a store that does not gets a HEAD before each PUT, until the agent ends.
///
/// A store that has a content gets its bytes in vain. So after a 412, and after a failure, a number of contents are asked
/// for again.
final class BlindPuts: Sendable {
    /// The largest content sent without a question, in bytes.
    static let largest: UInt64 = 256 << 10
    /// How many objects must be stored before the test. An agent with few files saves nothing by it.
    static let objectsBeforeTest = 4
    /// How many contents in a row must be missing before the next ones are sent without a question.
    static let caution = 32
    /// How many tests may end without an answer. A store that forbids to send an object again gives none.
    static let tests = 2

    private enum Store {
        /// So many objects were stored.
        case untested(objects: Int)
        case inTest
        case honoursCondition
        case ignoresCondition
    }

    private struct State {
        var store = Store.untested(objects: 0)
        /// The tests that ended without an answer.
        var vainTests = 0
        /// How many contents to ask for before the next one is sent without a question.
        var questions = 0
        /// Contents registered without a question, and not sent yet.
        var unasked: Set<ContentKey> = []
        /// Contents that the store has, as a 412 said.
        var known: Set<ContentKey> = []
    }

    private let state = Mutex(State())

    /// Whether to register a content without asking the store for it.
    func skipsQuestion(about key: ContentKey, size: UInt64) -> Bool {
        state.withLock { state in
            if state.known.remove(key) != nil { return false }
            guard case .honoursCondition = state.store, state.questions == 0, size <= Self.largest else { return false }
            state.unasked.insert(key)
            return true
        }
    }

    /// Records the answer to a question about a content.
    func answered(_ presence: S3Client.Presence) {
        state.withLock { $0.questions = presence == .missing ? max(0, $0.questions - 1) : Self.caution }
    }

    /// Whether the PUT that begins is the first request about the content.
    func beginPut(of key: ContentKey) -> Bool { state.withLock { $0.unasked.remove(key) != nil } }

    /// Records that the store had a content whose PUT was the first request about it.
    func wasInVain(_ key: ContentKey) {
        state.withLock { state in
            state.known.insert(key)
            state.questions = Self.caution
        }
    }

    /// Records that a PUT failed. A registration without a request must not look like a sign of life.
    func putFailed() { state.withLock { $0.questions = Self.caution } }

    /// Forgets a content whose upload was removed.
    func forget(_ key: ContentKey) {
        state.withLock { state in
            state.unasked.remove(key)
            state.known.remove(key)
        }
    }

    // MARK: Test

    /// Records a stored object.
    ///
    /// - Returns: whether to send it again as the test. The caller then calls `endTest`.
    func beginTest(size: UInt64) -> Bool {
        state.withLock { state in
            guard case .untested(let objects) = state.store, size <= Self.largest else { return false }
            let isDue = objects + 1 >= Self.objectsBeforeTest
            state.store = isDue ? .inTest : .untested(objects: objects + 1)
            return isDue
        }
    }

    /// Records the result of the test.
    ///
    /// - Parameter isHonoured: whether the store refused to overwrite; nil if its answer says neither.
    func endTest(isHonoured: Bool?) {
        state.withLock { state in
            switch isHonoured {
            case true?: state.store = .honoursCondition
            case false?: state.store = .ignoresCondition
            case nil:
                state.vainTests += 1
                state.store = state.vainTests < Self.tests ? .untested(objects: 0) : .ignoresCondition
            }
        }
    }
}
