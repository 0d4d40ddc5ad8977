import EndToEndSupport
import Testing

/// Plants faults and expects the judge to find them: a judge without findings would pass every trial.
@Suite("The judge of trials")
struct JudgeTests {
    private let one = String(repeating: "1", count: 32)
    private let two = String(repeating: "2", count: 32)

    private func sidecar(_ state: Sidecar.State, key: String?, error: Sidecar.Failure? = nil) -> Sidecar {
        Sidecar(
            version: 1, path: "a.jpg", key: key, state: state, progress: state == .done ? 1 : 0, deduplicated: false,
            attempts: 1, error: error)
    }

    private func verdict(of judge: Judge, _ stored: Stored, _ sidecar: Sidecar?) -> Verdict {
        judge.verdict(stored: stored) { _ in sidecar }
    }

    @Test("finds nothing if all is well")
    func clean() {
        var judge = Judge()
        judge.stands(one, at: "a.jpg")
        #expect(verdict(of: judge, Stored(finished: [one]), sidecar(.done, key: one)).isClean)
    }

    @Test("finds a planted lost file", arguments: [nil, Sidecar.State.settling, .uploading, .waiting, .cancelled])
    func lost(state: Sidecar.State?) {
        var judge = Judge()
        judge.stands(one, at: "a.jpg")
        let found = verdict(of: judge, Stored(finished: []), state.map { sidecar($0, key: one) })
        #expect(found.lost.count == 1)
        #expect(judge.unfinished(among: ["a.jpg"]) { _ in state.map { sidecar($0, key: one) } } == ["a.jpg"])
    }

    @Test("finds a missing object, even if the sidecar says done")
    func claimed() {
        var judge = Judge()
        judge.stands(one, at: "a.jpg")
        #expect(verdict(of: judge, Stored(finished: []), sidecar(.done, key: one)).lost.count == 1)
    }

    @Test("finds a path lost if its outcome belongs to the earlier content")
    func outdated() {
        var judge = Judge()
        judge.stands(one, at: "a.jpg")
        judge.stands(two, at: "a.jpg")
        #expect(verdict(of: judge, Stored(finished: [one]), sidecar(.done, key: one)).lost.count == 1)
        #expect(verdict(of: judge, Stored(finished: [one, two]), sidecar(.done, key: two)).isClean)
    }

    @Test("accepts either content after a change that may go unnoticed")
    func unnoticed() {
        var judge = Judge()
        judge.stands(one, at: "a.jpg")
        judge.stands(two, at: "a.jpg", mayGoUnnoticed: true)
        #expect(verdict(of: judge, Stored(finished: [one]), sidecar(.done, key: one)).isClean)
        #expect(verdict(of: judge, Stored(finished: [two]), sidecar(.done, key: two)).isClean)
        #expect(!verdict(of: judge, Stored(finished: []), sidecar(.done, key: two)).isClean)
    }

    @Test("accepts a refusal only with a reason")
    func refused() {
        var judge = Judge()
        judge.stands(one, at: "a.jpg")
        let reason = Sidecar.Failure(code: "refused", message: "server says 400", retryable: false)
        #expect(verdict(of: judge, Stored(finished: []), sidecar(.failed, key: one, error: reason)).isClean)
        #expect(verdict(of: judge, Stored(finished: []), sidecar(.failed, key: one)).lost.count == 1)
    }

    @Test("finds a planted duplicate")
    func duplicate() {
        var judge = Judge()
        judge.stands(one, at: "a.jpg")
        let found = verdict(of: judge, Stored(finished: [one, one]), sidecar(.done, key: one))
        #expect(found.duplicates.count == 1)
        #expect(found.lost.isEmpty && found.mixtures.isEmpty)
    }

    @Test("finds a planted mixture: an object that no file ever contained")
    func mixture() {
        var judge = Judge()
        judge.stands(one, at: "a.jpg")
        let found = verdict(of: judge, Stored(finished: [one, two]), sidecar(.done, key: one))
        #expect(found.mixtures.count == 1)
        judge.stands(two, at: "a.jpg")
        judge.stands(one, at: "a.jpg")
        #expect(verdict(of: judge, Stored(finished: [one, two]), sidecar(.done, key: one)).isClean)
    }

    @Test("reports the mixtures and violations that the server found")
    func server() {
        let stored = Stored(finished: [], mixed: ["x"], violations: ["y"])
        let found = Judge().verdict(stored: stored) { _ in nil }
        #expect(found.mixtures == ["x"] && found.violations == ["y"] && !found.isClean)
        #expect(found.details == ["mixture: x", "violation: y"])
    }

    @Test("expects nothing of a path that the trial removed")
    func removed() {
        var judge = Judge()
        judge.stands(one, at: "a.jpg")
        judge.removed("a.jpg")
        #expect(verdict(of: judge, Stored(finished: [one]), nil).isClean)
    }
}
