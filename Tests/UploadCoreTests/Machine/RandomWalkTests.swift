import Testing
import UploadCore

/// `OUTBOX_WALK_EVENTS` (default 120,000) sets the length of the walk, `OUTBOX_WALK_SEED` its seed.
@Suite("Random walks over faults, kills and user actions")
struct RandomWalkTests {
    @Test("keep every promise and end", arguments: [RemoteTraits.fileSection, .tus, .s3])
    func walk(traits: RemoteTraits) {
        takeWalks(events: 120_000, share: 3, stretch: 2_000) { Walk(traits: traits, seed: $0) }
    }
}
