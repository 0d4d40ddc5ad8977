import Testing

@testable import UploadCore

/// Every state of an accepted picture, with every possible event.
@Suite("Table of the portrait machine")
struct PortraitTableTests {
    private typealias Event = PortraitMachine.Event

    private static let states = [
        "nothing", "preparing", "sending", "waiting", "paused", "stopping", "signed out", "confirming", "done",
        "refused",
    ]

    /// Returns a machine with `a.jpg`, picture 1, in a state.
    private static func life(_ state: String) -> PortraitLife {
        var life = PortraitLife()
        switch state {
        case "nothing": return life
        case "preparing":
            life(.dropped(PortraitLife.drop("a.jpg"), .arrived(1)))
            return life
        case "signed out": life(.serverTrouble(PortraitLife.refusal))
        default: break
        }
        life.take("a.jpg")
        switch state {
        case "waiting": life(.failed(life.request, .temporary(PortraitLife.trouble)))
        case "paused", "stopping":
            life(.paused(PortraitLife.path("a.jpg"), true))
            life(state == "paused" ? .failed(life.request, .cancelled) : .paused(PortraitLife.path("a.jpg"), false))
        case "confirming", "done": life(.uploaded(life.request, url: "u"))
        case "refused": life(.failed(life.request, .permanent(PortraitLife.objection)))
        default: break
        }
        if state == "done" || state == "refused" { life(.settled) }
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
            { _ in .takenBack(PortraitLife.path("a.jpg"), PortraitLife.drop("a.jpg").key, PortraitLife.removal) }
        ),
        ("renamed", { _ in .renamed(PortraitLife.path("a.jpg"), PortraitLife.path("c.jpg")) }),
        ("paused", { _ in .paused(PortraitLife.path("a.jpg"), true) }),
        ("resumed", { _ in .paused(PortraitLife.path("a.jpg"), false) }),
        ("all paused", { _ in .allPaused(true) }),
        ("retried", { _ in .retried(PortraitLife.path("a.jpg")) }),
        ("new credentials", { _ in .credentialsChanged(account: "anna") }),
        ("session refused", { _ in .serverTrouble(PortraitLife.refusal) }),
        ("server trouble", { _ in .serverTrouble(PortraitLife.trouble) }),
        ("session works", { _ in .serverTrouble(nil) }),
        ("signed out", { _ in .signedOut }),
        ("network", { _ in .networkChanged }),
        ("time", { _ in .tick }),
    ]

    /// Events missing from the table change nothing.
    @Test("each event has the expected result in each state")
    func table() {
        var lines: [String] = []
        for state in Self.states {
            lines.append("\(state):")
            for (name, event) in Self.events {
                var life = Self.life(state)
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
        #expect(lines == Self.expected.split(separator: "\n").map(String.init))
    }
}
