import Testing

@testable import ControlAPI

@Suite("Whether the agent can answer")
struct ReadinessTests {
    private let readiness = Readiness()

    @Test("Requests wait until the agent is ready")
    func waiting() async throws {
        let requests = (0..<3).map { _ in Task { [readiness] in try await readiness.wait() } }
        readiness.setReady()
        for request in requests { try await request.value }
    }

    @Test("An obstacle refuses requests that wait and later ones, until it is gone")
    func obstacle() async throws {
        let waiting = Task { [readiness] in try await readiness.wait() }
        readiness.setObstacle("the disk is full; free space")
        for request in [waiting, Task { [readiness] in try await readiness.wait() }] {
            let refusal = await #expect(throws: ControlRefusal.self) { try await request.value }
            #expect(refusal?.message == "the agent cannot start yet: the disk is full; free space")
        }
        readiness.setObstacle(nil)
        let patient = Task { [readiness] in try await readiness.wait() }
        readiness.setReady()
        try await patient.value
    }

    @Test("A ready agent has no obstacle")
    func ready() async throws {
        readiness.setReady()
        readiness.setObstacle("the disk is full")
        try await readiness.wait()
    }
}
