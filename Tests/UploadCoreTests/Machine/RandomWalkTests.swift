import Testing
import UploadCore

/// `OUTBOX_WALK_EVENTS` (default 120,000) sets the length of the walk, `OUTBOX_WALK_SEED` its seed.
@Suite("A walk at random over faults, kills and a restless user")
struct RandomWalkTests {
    @Test("keeps every promise and comes to an end", arguments: [RemoteTraits.fileSection, .tus, .s3])
    func walk(traits: RemoteTraits) {
        takeWalks(events: 120_000, share: 3, stretch: 2_000) { Walk(traits: traits, seed: $0) }
    }
}
