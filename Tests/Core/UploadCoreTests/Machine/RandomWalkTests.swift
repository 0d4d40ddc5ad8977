import Testing
import UploadCore

/// `OUTBOX_WALK_EVENTS` (default 120,000) sets the length of the walk, `OUTBOX_WALK_SEED` its seed.
@Suite("Random walks over faults, kills and user actions")
struct RandomWalkTests {
    @Test("keep every promise and end", arguments: [RemoteTraits.fileSection, .tus, .stream, .s3])
    func walk(traits: RemoteTraits) {
        takeWalks(events: 120_000, share: 8, stretch: 2_000) { Walk(traits: traits, seed: $0, window: 1_000) }
    }

    @Test(
        "also if the machine holds three uploads and reads the others from the ledger",
        arguments: [
            RemoteTraits.fileSection, .tus, .stream, .s3,
        ])
    func window(traits: RemoteTraits) {
        takeWalks(events: 120_000, share: 8, stretch: 2_000) { Walk(traits: traits, seed: $0, window: 3) }
    }
}
