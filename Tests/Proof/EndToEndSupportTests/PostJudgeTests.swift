import EndToEndSupport
import Testing

/// Plants faults and expects the judge to find them: a judge without findings would pass every trial.
@Suite("The judge of posts")
struct PostJudgeTests {
    private let server: FaultServer
    private let client: SectionClient

    init() throws {
        server = try FaultServer()
        client = SectionClient(server: server)
    }

    private func key(_ content: String) -> String { Digest.md5(Array(content.utf8)) }

    private func sidecar(_ contents: [String], id: String = "s1", revision: Int = 1, url: String?) -> SourceSidecar {
        let files = contents.map {
            SourceSidecar.File(path: "Sea/\($0)", name: $0, key: key($0), state: .done)
        }
        return SourceSidecar(id: id, path: "Sea", revision: revision, url: url, files: files)
    }

    private func verdict(of contents: [String], _ sidecar: SourceSidecar?) -> PostVerdict {
        var judge = PostJudge()
        judge.stands(Set(contents.map(key)), in: "Sea")
        return judge.verdict(server.store.posts) { _ in sidecar }
    }

    /// Uploads the contents, commits them as a post and returns its URL.
    private func post(_ contents: [String]) throws -> String? {
        _ = try client.commit(client.upload(contents))
        return server.store.posts.post(titled: "Sea")?.url
    }

    @Test("finds nothing if all is well")
    func clean() throws {
        let url = try post(["a", "b"])
        #expect(verdict(of: ["a", "b"], sidecar(["a", "b"], url: url)).isClean)
    }

    @Test("finds a directory without a post's sidecar, and a post that is not done")
    func open() throws {
        let url = try post(["a"])
        #expect(verdict(of: ["a"], nil).lost.count == 1)
        #expect(verdict(of: ["a"], sidecar(["a"], url: nil)).lost.count == 1)
        var pending = sidecar(["a"], url: url)
        pending.pending_changes = ["b"]
        #expect(verdict(of: ["a"], pending).lost.count == 1)
    }

    @Test("finds a missing post, even if the sidecar says done")
    func claimed() throws {
        #expect(verdict(of: ["a"], sidecar(["a"], url: "http://127.0.0.1/s/1")).lost.count == 1)
        let url = try post(["a"])
        #expect(verdict(of: ["a"], sidecar(["a"], revision: 2, url: url)).lost.count == 1)
    }

    @Test("finds a file missing from its post, and a file that does not belong there")
    func contents() throws {
        let url = try post(["a", "b"])
        let found = verdict(of: ["a", "c"], sidecar(["a", "c"], url: url))
        #expect(found.lost.count == 1 && found.mixtures.count == 1)
    }

    @Test("finds a second post of one directory: under another id, or as an identical revision")
    func twice() throws {
        let url = try post(["a"])
        let ids = try client.upload(["a"])
        _ = try client.commit(ids, ["sourceId": "s2"])
        #expect(verdict(of: ["a"], sidecar(["a"], url: url)).twice.count == 1)
        let again = try client.commit(ids, revision: 2)
        let last = sidecar(["a"], revision: 2, url: again.data["url"] as? String)
        #expect(verdict(of: ["a"], last).twice.count == 2)
    }

    @Test("finds a revision that was committed with two payloads")
    func contradiction() throws {
        let url = try post(["a"])
        _ = try client.commit(client.upload(["b"]))
        #expect(verdict(of: ["a"], sidecar(["a"], url: url)).twice.count == 1)
    }
}
