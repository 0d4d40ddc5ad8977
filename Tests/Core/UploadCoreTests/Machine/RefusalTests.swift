import Testing
import UploadCore

@Suite("One upload that the server or a proxy refuses among others")
struct RefusalTests {
    private static let bad = content(1, fragments: 3).key
    private static let page = RemoteFailure.temporary(
        FileError(code: "bad_reply", message: "a page", retryable: true), outlook: .lasting)
    private static let failures: [RemoteFailure] = [
        page, .busy, .refused, .outOfStep(.busy), .busyUpload(.busy), .forgotten,
        .temporary(.busy, outlook: .gateway),
    ]
    /// Failures that say nothing about the content, so that a batch stays one.
    private static let general: [RemoteFailure] = [
        .temporary(.busy, outlook: .busy), .temporary(.busy, outlook: .away),
    ]

    /// Returns the answer to a request: a failure if it is about the bad upload.
    private static func refuses(_ failure: RemoteFailure, _ kinds: Set<Begun.Kind>) -> (Begun) -> Reply {
        { $0.keys.contains(bad) && kinds.contains($0.kind) ? .failure(failure) : .success }
    }

    private func drop(_ numbers: ClosedRange<UInt64>, in bench: inout Bench) {
        bench.tell(
            numbers.map {
                .join(RelativePath("f\($0)") ?? .root, content($0, fragments: $0 == 1 ? 3 : 1), paused: false)
            })
    }

    @Test(
        "holds up no other for more than 5 s, whatever the answer",
        arguments: [RemoteTraits.fileSection, .tus, .s3], [1, 2, 5])
    func others(traits: RemoteTraits, files: Int) {
        for failure in Self.failures + Self.general {
            let isGeneral = Self.general.contains(failure)
            for kind in [Begun.Kind.register, .send, .finish]
            where isGeneral ? kind == .send : traits.batch > 1 || kind != .finish {
                var bench = Bench(traits, files: files)
                drop(1...9, in: &bench)
                bench.run(for: .seconds(5), Self.refuses(failure, [kind]))
                let done = bench.outcomes.count { if case .done = $0.value { true } else { false } }
                #expect(done >= 8, "\(failure) on \(kind): \(bench.outcomes.keys.sorted())")
            }
        }
    }

    @Test(
        "does so for files that come later, although it was the only one for long",
        arguments: [RemoteTraits.fileSection, .tus, .s3])
    func later(traits: RemoteTraits) {
        for failure in [Self.page, .busy, .temporary(.busy, outlook: .gateway)] {
            var bench = Bench(traits)
            drop(1...1, in: &bench)
            bench.run(for: .seconds(900), Self.refuses(failure, [.send]))
            drop(2...9, in: &bench)
            bench.run(for: .seconds(5), Self.refuses(failure, [.send]))
            #expect(bench.outcomes.count == 8, "\(failure)")
        }
    }

    @Test("is reported once while the others are taken, and no trouble of the server remains")
    func report() {
        var bench = Bench()
        drop(1...9, in: &bench)
        bench.run(for: .seconds(900), Self.refuses(Self.page, [.send]))
        #expect(bench.outcomes.count == 8)
        #expect(bench.refusals.map(\.?.message) == ["f1: a page"])
        #expect(bench.state(Self.bad, "f1") == .waiting)
        #expect(bench.trouble.isEmpty || bench.trouble.last == .some(nil))
        bench.run()
        #expect(bench.outcomes.count == 9)
        #expect(bench.refusals == [FileError(code: "bad_reply", message: "f1: a page", retryable: true), nil])
    }

    @Test("leaves no trouble of the server if another was taken during its probe")
    func probe() {
        var bench = Bench()
        drop(1...2, in: &bench)
        bench.answer(.register)
        let failOne: (inout Bench) -> Void = { bench in
            let request = bench.underWay.last { $0.keys == [Self.bad] }
            bench.tell(request.map { Reply.failure(Self.page).events(for: $0) } ?? [])
        }
        for _ in 0..<3 { failOne(&bench) }
        bench.pass(.seconds(130))
        #expect(bench.underWay.count { $0.keys == [Self.bad] } == 1, "the probe")
        for request in bench.underWay where request.keys != [Self.bad] {
            bench.tell(Reply.success.events(for: request))
        }
        bench.answer(.finish)
        #expect(bench.underWay.count { $0.keys == [Self.bad] } == 3, "the gates are open")
        for _ in 0..<3 { failOne(&bench) }
        #expect(bench.refusals.map(\.?.message) == ["f1: a page"])
        #expect(bench.trouble.last == .some(nil))
        bench.run(for: .seconds(900), Self.refuses(Self.page, [.send]))
        #expect(bench.trouble.last == .some(nil))
        #expect(bench.refusals.count == 1)
    }

    @Test("leaves no trouble of the server if only it is left after an outage")
    func outage() {
        var bench = Bench()
        drop(1...9, in: &bench)
        bench.run(for: .seconds(900), Self.refuses(Self.page, [.send]))
        bench.run(for: .seconds(300)) { _ in .failure(.temporary(.busy, outlook: .away)) }
        bench.run(for: .seconds(900), Self.refuses(Self.page, [.send]))
        #expect(bench.trouble.last == .some(nil))
        #expect(bench.refusals.last??.message == "f1: a page")
    }

    @Test("is not sent again because other fragments of its file arrive")
    func fragments() {
        var bench = Bench()
        bench.tell(.join("f1", content(1, fragments: 400), paused: false))
        let key = content(1, fragments: 400).key
        bench.run(for: .seconds(110)) { $0.kind == .send && $0.fragment == 2 ? .failure(Self.page) : .success }
        #expect(bench.begun.count { $0.kind == .send && $0.fragment == 2 } <= 2)
        #expect(bench.state(key, "f1") == .waiting)
    }

    @Test(
        "many of them, and nothing else, get at most 30 requests a minute", arguments: [RemoteTraits.fileSection, .s3])
    func all(traits: RemoteTraits) {
        for failure in Self.failures.prefix(2) {
            var bench = Bench(traits)
            drop(1...200, in: &bench)
            bench.run(for: .seconds(60)) { $0.kind == .send ? .failure(failure) : .success }
            #expect(bench.begun.count { $0.kind == .send } <= 30, "\(failure)")
            let before = bench.begun.count
            bench.run(for: .seconds(600)) { $0.kind == .send ? .failure(failure) : .success }
            #expect(bench.begun.count - before <= 300)
        }
    }

    @Test("half of them hold up the others for a few seconds only")
    func half() {
        var bench = Bench()
        drop(1...400, in: &bench)
        bench.run(for: .seconds(20)) { request in
            request.kind == .send && request.keys[0].high % 2 == 1 ? .failure(Self.page) : .success
        }
        #expect(bench.outcomes.count == 200)
    }

    @Test(
        "in a batch is found by asking one by one", arguments: [page, .busy, .temporary(.busy, outlook: .gateway)],
        [Begun.Kind.register, .finish])
    func batch(failure: RemoteFailure, kind: Begun.Kind) {
        var bench = Bench()
        drop(1...50, in: &bench)
        bench.run(for: .seconds(5), Self.refuses(failure, [kind]))
        #expect(bench.outcomes.count == 49)
    }

    @Test("that fails as the commit of a post holds up no file")
    func commit() {
        for failure in [Self.page, .busy] {
            var bench = Bench()
            let commit = SourceCommit(
                sourceID: "s", revision: 1, title: "t", cover: nil, fileIDs: ["1"],
                createdAt: WallTime(milliseconds: 0))
            bench.tell(.commit(commit, forgotten: 0))
            bench.run(for: .seconds(900)) { $0.kind == .commit ? .failure(failure) : .success }
            drop(2...9, in: &bench)
            bench.run(for: .seconds(5)) { $0.kind == .commit ? .failure(failure) : .success }
            #expect(bench.outcomes.count == 8, "\(failure)")
        }
    }
}
