import EndToEndSupport
import TestSupport
import Testing

/// The trial R15 tries names of all legal bytes with a server in memory.
@Suite("Every legal file name works", .agents)
struct FileNameTests {
    private static let names = [
        "two words.jpg", "it's \"quoted\".jpg", "line\nbreak.jpg", "return\r\nX-Injected: yes.jpg", "-rf.jpg", "--help",
        "café \u{1F3D6}\u{FE0F}.jpg", "cafe\u{301}.jpg", "100%25.jpg", "back\\slash.jpg", "tab\there.jpg",
        "no extension", "a;b&c|d$(e)`f`.jpg", "*?[x].jpg", "trailing. ", "ends.in.JPEG", "x.verylongextension",
    ]

    @Test("odd names at the real receiver")
    func odd() async throws {
        let receiver = try await Receiver.started()
        let agent = try Agent(remote: receiver.url)
        try await agent.start()
        let keys = try Self.names.map { try agent.drop($0, .jpeg, size: 3000) }.sorted()

        for name in Self.names {
            let sidecar = try await agent.reached(name, .done)
            // Swift strings compare equal across normalisation forms, but the agent must not normalise names.
            #expect(Array(sidecar.path.utf8) == Array(name.utf8))
        }

        #expect(try receiver.objects() == keys)
        #expect(try receiver.files().values.sorted() == keys)
    }
}
