import Testing
import UploadCore

@testable import Portrait

/// Every state of a picture that was taken, and everything that can happen to it.
@Suite("The portrait's table")
struct PortraitTableTests {
    private typealias Event = PortraitMachine.Event

    /// What there is to start from: `a.jpg` is picture 1, in each of the states it can be in.
    private static let states: [(name: String, make: @Sendable () -> PortraitLife)] = [
        ("nothing", { PortraitLife() }),
        ("preparing", { with { $0(.dropped(PortraitLife.drop("a.jpg"), .arrived(1))) } }),
        ("sending", { with { $0.take("a.jpg") } }),
        (
            "waiting",
            {
                with {
                    $0.take("a.jpg"); $0(.failed($0.request, .temporary(PortraitLife.trouble)))
                }
            }
        ),
        (
            "paused",
            {
                with {
                    $0.take("a.jpg"); $0(.paused(PortraitLife.path("a.jpg"), true)); $0(.failed($0.request, .cancelled))
                }
            }
        ),
        (
            "stopping",
            {
                with {
                    $0.take("a.jpg"); $0(.paused(PortraitLife.path("a.jpg"), true));
                    $0(.paused(PortraitLife.path("a.jpg"), false))
                }
            }
        ),
        (
            "signed out",
            {
                with {
                    $0(.sessionRefused(PortraitLife.refusal)); $0.take("a.jpg")
                }
            }
        ),
        (
            "confirming",
            {
                with {
                    $0.take("a.jpg"); $0(.uploaded($0.request, url: "u"))
                }
            }
        ),
        (
            "done",
            {
                with {
                    $0.take("a.jpg"); $0(.uploaded($0.request, url: "u")); $0(.settled)
                }
            }
        ),
        (
            "refused",
            {
                with {
                    $0.take("a.jpg"); $0(.failed($0.request, .permanent(PortraitLife.objection))); $0(.settled)
                }
            }
        ),
    ]

    private static func with(_ body: (inout PortraitLife) -> Void) -> PortraitLife {
        var life = PortraitLife()
        body(&life)
        return life
    }

    private static let events: [(name: String, event: @Sendable (PortraitLife) -> Event)] = [
        ("another is dropped", { _ in .dropped(PortraitLife.drop("b.jpg", content: 2), .arrived(2)) }),
        ("another is taken", { life in .stored(life.machine.candidates.last?.id ?? 0) }),
        ("it succeeds", { .uploaded($0.request, url: "u") }),
        ("trouble", { .failed($0.request, .temporary(PortraitLife.trouble)) }),
        ("refusal", { .failed($0.request, .permanent(PortraitLife.objection)) }),
        ("401", { .failed($0.request, .signedOut(PortraitLife.refusal)) }),
        ("it ends", { .failed($0.request, .cancelled) }),
        ("it is durable", { _ in .settled }),
        ("the disk fails", { _ in .unsettled(PortraitLife.trouble) }),
        (
            "removed",
            { _ in
                .takenBack(
                    PortraitLife.path("a.jpg"), PortraitLife.drop("a.jpg").key,
                    FileError(code: "removed", message: "", retryable: false))
            }
        ),
        ("renamed", { _ in .renamed(PortraitLife.path("a.jpg"), PortraitLife.path("c.jpg")) }),
        ("paused", { _ in .paused(PortraitLife.path("a.jpg"), true) }),
        ("resumed", { _ in .paused(PortraitLife.path("a.jpg"), false) }),
        ("all paused", { _ in .allPaused(true) }),
        ("retried", { _ in .retried(PortraitLife.path("a.jpg")) }),
        ("new credentials", { _ in .credentialsChanged(account: "anna") }),
        ("session refused", { _ in .sessionRefused(PortraitLife.refusal) }),
        ("session works", { _ in .sessionWorks }),
        ("signed out", { _ in .signedOut }),
        ("network", { _ in .networkChanged }),
        ("time", { _ in .tick }),
    ]

    /// What is not in the table changes nothing.
    @Test("what follows from each event in each state")
    func table() {
        var lines: [String] = []
        for state in Self.states {
            lines.append("\(state.name):")
            for (name, event) in Self.events {
                var life = state.make()
                if name == "another is taken" {
                    life(.dropped(PortraitLife.drop("b.jpg", content: 2), .arrived(2)))
                    if let first = life.machine.preparing, first != life.machine.candidates.last?.id {
                        life(.prepared(first))
                        life(.stored(first))
                    }
                    life(.prepared(life.machine.candidates.last?.id ?? 0))
                }
                if name == "time" { life.milliseconds += 200_000 }
                let before = life.phase
                let words = PortraitLife.words(life(event(life)))
                if before != life.phase || !words.isEmpty { lines.append("  \(name) → \(life.phase): \(words)") }
            }
        }
        print(lines.joined(separator: "\n"))
        #expect(lines == Self.expected.split(separator: "\n").map(String.init))
    }
}
