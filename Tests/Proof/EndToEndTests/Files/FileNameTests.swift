import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Every legal file name works", .agents)
struct FileNameTests {
    @Test(
        "odd names",
        arguments: [
            "two words.jpg", "it's \"quoted\".jpg", "line\nbreak.jpg", "return\r\nX-Injected: yes.jpg", "-rf.jpg",
            "--help",
            "café \u{1F3D6}\u{FE0F}.jpg", "cafe\u{301}.jpg", "100%25.jpg", "back\\slash.jpg", "tab\there.jpg",
            "no extension",
            "a;b&c|d$(e)`f`.jpg", "*?[x].jpg", "trailing. ", "ends.in.JPEG", "x.verylongextension",
        ])
    func odd(name: String) async throws {
        let receiver = try await Receiver.started()
        let agent = try Agent(remote: receiver.url)
        try await agent.start()
        let key = try agent.drop(name, .jpeg, size: 3000)

        let sidecar = try await agent.reached(name, .done)

        // Swift strings compare equal across normalisation forms, but the agent must not normalise names.
        #expect(Array(sidecar.path.utf8) == Array(name.utf8))
        #expect(try receiver.objects() == [key])
        #expect(try Array(receiver.files().values) == [key])
    }

    @Test("odd names in fileSection requests, which stay well-formed")
    func wellFormed() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let names = ["\"; filename=\"x.jpg", "a\r\n\r\nb.jpg", "-x", "\u{1F600}.jpg", "a.j\"p\"g"]
        let keys = try names.map { try agent.drop($0, .jpeg, size: 3000) }

        for name in names { try await agent.reached(name, .done) }

        expectClean(server, finished: keys)
        #expect(Set(server.store.uploads.values.map(\.fileName)) == Set(names))
    }

    @Test("a name that is not UTF-8, with percent-encoding in path and its bytes in path_bytes")
    func notUTF8() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let bytes = SampleMedia.jpeg.bytes(size: 3000, seed: 1)
        let name: [UInt8] = Array("b".utf8) + [0xFF, 0xFE] + Array("%d.jpg".utf8)
        try Files.write(bytes, to: Array(agent.outbox.utf8) + [UInt8(ascii: "/")] + name)

        let sidecarPath = Array(agent.outbox.utf8) + [UInt8(ascii: "/")] + name + Array(".outbox.json".utf8)
        let sidecar = try await Poll.value("the sidecar to say done", lastState: { agent.log }) { () -> Sidecar? in
            guard let data = Files.read(sidecarPath) else { return nil }
            let sidecar = try JSONDecoder().decode(Sidecar.self, from: Data(data))
            return sidecar.state == .done ? sidecar : nil
        }
        #expect(sidecar.path == "b%FF%FE%25d.jpg")
        #expect(sidecar.path_bytes == Data(name).base64EncodedString())
        expectClean(server, finished: [Digest.md5(bytes)])
    }

    @Test("a name so long that the sidecar's name is cut and gets a hash", arguments: ["n", "ü", "\u{1F3D6}"])
    func longest(unit: String) async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let count = 251 / unit.utf8.count
        let name =
            String(repeating: unit, count: count) + String(repeating: "x", count: 251 - count * unit.utf8.count)
            + ".jpg"
        #expect(name.utf8.count == 255)
        let key = try agent.drop(name, .jpeg, size: 3000)

        // Contract 3: `<head>~<hash>.outbox.json`, the head as long as fits at a character boundary.
        let tail = "~" + Digest.md5(Array(name.utf8)).prefix(8) + ".outbox.json"
        var head = ""
        for character in name {
            if head.utf8.count + String(character).utf8.count + tail.utf8.count > 255 { break }
            head.append(character)
        }
        let sidecar = try await Poll.value(
            "\(head + tail) to say done",
            lastState: { "\(Files.tree(agent.outbox))\n\(agent.log)" },
            look: {
                let sidecar = try agent.sidecar(named: head + tail)
                return sidecar?.state == .done ? sidecar : nil
            })
        #expect(sidecar.path == name)
        expectClean(server, finished: [key])
    }

    @Test("a name whose sidecar's name belongs to a foreign file, which stays untouched")
    func foreignFile() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        let foreign = Array("{\"mine\": true}".utf8)
        try agent.drop("a.jpg.outbox.json", foreign)
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 3000)

        let names = ["a.jpg.outbox (2).json", "a.jpg (2).outbox.json", "a.jpg.outbox.json (2)"]
        try await Poll.until(
            "a sidecar under another name", lastState: { "\(Files.tree(agent.outbox))\n\(agent.log)" }
        ) {
            try names.contains { try agent.sidecar(named: $0)?.state == .done }
        }
        #expect(FileManager.default.contents(atPath: agent.path("a.jpg.outbox.json")) == Data(foreign))
    }
}
