import Testing
import UploadCore

@Suite("Pauses after failures")
struct PauseTests {
    private func pauses(_ failure: RemoteFailure, of kind: Begun.Kind = .send, count: Int) -> [Duration] {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        if kind != .register { bench.answer(.register) }
        if kind == .finish { bench.answer(.send) }
        var pauses: [Duration] = []
        for _ in 0..<count {
            bench.answer(kind, .failure(failure))
            let start = bench.now.monotonic
            while !bench.kinds.contains(kind), let next = bench.machine.nextDeadline(after: bench.now.monotonic) {
                bench.pass(next - bench.now.monotonic)
            }
            pauses.append(bench.now.monotonic - start)
        }
        return pauses
    }

    @Test(
        "double from one second to the ceiling, shortened by up to a quarter",
        arguments: [Begun.Kind.register, .send, .finish])
    func doubling(kind: Begun.Kind) {
        for (index, pause) in pauses(.busy, of: kind, count: 10).enumerated() {
            let full = min(Duration.seconds(1 << index), .seconds(120))
            #expect(pause <= full + .milliseconds(2) && pause >= full * 3 / 4, "failure \(index + 1)")
        }
    }

    @Test("follow Retry-After")
    func retryAfter() {
        #expect(
            pauses(.temporary(.busy, retryAfter: .seconds(7)), count: 3) == [.seconds(7), .seconds(7), .seconds(7)])
    }

    @Test("grow even if Retry-After is zero")
    func retryAtOnce() throws {
        let pauses = pauses(.temporary(.busy, retryAfter: .zero), count: 8)
        #expect(try #require(pauses.first) <= .milliseconds(1002))
        #expect(try #require(pauses.last) >= .seconds(90))
    }

    @Test("reach the ceiling at once after a slow failure")
    func slow() {
        #expect(pauses(.temporary(.busy, outlook: .lasting), count: 2) == [.seconds(120), .seconds(120)])
    }

    @Test("reach the ceiling if the server refused the credentials, with one probe each")
    func signedOut() {
        var bench = Bench()
        bench.tell((1...20).map { .join(RelativePath("f\($0)") ?? .root, content($0, fragments: 3), paused: false) })
        bench.answer(.register)
        bench.answer(.send)
        for request in bench.underWay { bench.tell(Reply.failure(.unauthorized).events(for: request)) }
        let before = bench.begun.count
        bench.run(for: .seconds(1201)) { _ in .failure(.unauthorized) }
        #expect((9...11).contains(bench.begun.count - before))
        #expect(bench.state(content(1).key, "f1") == .signedOut)
        #expect(bench.view(content(1).key, "f1")?.fragments.finished == 1)
        #expect(bench.trouble == [.signedOut])
        bench.tell(.credentialsChanged)
        bench.run()
        #expect(bench.outcomes.count == 20)
        #expect(bench.trouble == [.signedOut, nil])
    }

    @Test("end when a network appears")
    func network() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        for _ in 0..<5 {
            bench.answer(.register, .failure(.busy))
            bench.tell(.networkChanged)
            #expect(bench.kinds == [.register])
        }
    }

    @Test("start over with a new network, which may need a moment to carry data")
    func networkNotReadyYet() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        for _ in 0..<6 {
            bench.answer(.register, .failure(.busy))
            bench.pass(.seconds(120))
        }
        bench.answer(.register, .failure(.busy))
        bench.tell(.networkChanged)
        bench.answer(.register, .failure(.busy))
        let begun = bench.begun.count
        bench.pass(.seconds(1))
        #expect(bench.begun.count == begun + 1)
    }

    @Test("end when a network appears, even if a probe hangs in the old network")
    func hangingProbe() {
        var bench = Bench(files: 2, fragments: 1)
        bench.tell(.join("a", content(1), paused: false), .join("b", content(2), paused: false))
        bench.answer(.register)
        bench.answer(.send, .failure(.busy))
        bench.answer(.send, .failure(.busy))
        bench.pass(.seconds(2))
        #expect(bench.kinds == [.send])
        bench.tell(.networkChanged)
        #expect(bench.kinds == [.send, .send])
    }

    @Test("of the whole server end when the user retries one file")
    func retryOfAQueuedUpload() {
        var bench = Bench(files: 1, fragments: 1)
        bench.tell(.join("a", content(1), paused: false), .join("b", content(2), paused: false))
        bench.answer(.register)
        bench.answer(.send, .failure(.temporary(.busy, outlook: .lasting)))
        #expect(bench.state(content(2).key, "b") == .waiting)
        bench.tell(.retry(content(2).key))
        #expect(bench.kinds == [.send])
    }

    @Test("ignore a refusal of old credentials after a change")
    func staleRefusal() {
        var bench = Bench()
        bench.tell(.join("a", content(1, fragments: 4), paused: false))
        bench.answer(.register)
        let old = bench.underWay
        bench.tell(Reply.failure(.unauthorized).events(for: old[0]))
        bench.tell(.credentialsChanged)
        let probe = bench.underWay.filter { !old.contains($0) }
        bench.tell(probe.flatMap { Reply.success.events(for: $0) })
        #expect(bench.state() == .uploading)
        bench.tell(old.dropFirst().flatMap { Reply.failure(.unauthorized).events(for: $0) })
        #expect(bench.state() == .uploading)
        bench.run(for: .seconds(10))
        #expect(bench.outcomes["a"] != nil)
    }

    @Test("do not block a kind of request for ever after a refused probe")
    func refusedProbe() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        bench.answer(.register)
        bench.answer(.send, .failure(.busy))
        bench.pass(.seconds(1))
        bench.answer(.send, .failure(.unauthorized))
        bench.tell(.credentialsChanged)
        bench.run(for: .seconds(10))
        #expect(bench.outcomes["a"] != nil)
    }

    @Test("do not block other uploads for ever if the probe's upload left")
    func abandonedProbe() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        bench.answer(.register, .failure(.busy))
        bench.pass(.seconds(1))
        let probe = bench.underWay[0]
        bench.tell(.leave("a", content(1).key))
        bench.tell(Reply.failure(.busy).events(for: probe))
        bench.tell(.join("b", content(2), paused: false))
        bench.run(for: .seconds(10))
        #expect(bench.outcomes["b"] != nil)
    }

    @Test("trouble is reported again if its kind changes")
    func changedTrouble() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        bench.answer(.register, .failure(.busy))
        bench.pass(.seconds(1))
        bench.answer(.register, .failure(.unauthorized))
        #expect(bench.trouble == [.busy, .signedOut])
    }

    @Test("a deadline that passed without a tick is not lost")
    func passedDeadline() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        bench.answer(.register, .failure(.unauthorized))
        #expect(bench.machine.nextDeadline(after: bench.now.monotonic + .seconds(1000)) != nil)
    }
}

@Suite("A server where nothing works")
struct HotLoopTests {
    private static let failures: [RemoteFailure] = [
        .busy, .temporary(.busy, outlook: .lasting), .temporary(.busy, retryAfter: .seconds(20)),
        .temporary(.busy, retryAfter: .zero), .temporary(.busy, outlook: .away), .unauthorized, .forgotten, .refused,
        .cancelled,
    ]

    @Test(
        "gets at most 30 requests a minute after the first burst",
        arguments: failures, [Begun.Kind.register, .resume, .send, .finish])
    func bound(failure: RemoteFailure, kind: Begun.Kind) {
        var bench = Bench(kind == .resume ? .tus : .fileSection)
        bench.tell((1...200).map { .join(RelativePath("f\($0)") ?? .root, content($0, fragments: 2), paused: false) })
        var sends = 0
        bench.run(for: .seconds(7200)) { request in
            sends += request.kind == .send ? 1 : 0
            // Interrupt some requests, so that the machine has something to resume.
            if kind == .resume && request.kind == .send && sends % 2 == 1 { return .failure(.busy) }
            return request.kind == kind ? .failure(failure) : .success
        }
        let start = MonotonicTime(nanoseconds: 1_000_000_000_000) + .seconds(3600)
        var times = bench.begun.map(\.at).filter { $0 > start }[...]
        while let first = times.popFirst() {
            let inMinute = times.prefix { $0 - first < .seconds(60) }.count
            guard inMinute >= 30 else { continue }
            Issue.record(
                "\(inMinute + 1) requests in a minute, \((first - start).components.seconds) s after the burst")
            return
        }
    }

    @Test("a file that can't be assembled fails after three attempts")
    func assembly() {
        var bench = Bench()
        bench.tell(.join("a", content(1, fragments: 3), paused: false))
        bench.run { $0.kind == .finish ? .unassembled : .success }
        guard case .failed(let error) = bench.outcomes["a"] else {
            Issue.record("not failed")
            return
        }
        #expect(error.code == "assembly_failed" && !error.retryable)
        #expect(bench.begun.count { $0.kind == .finish } == 3)
        #expect(bench.begun.count { $0.kind == .send } == 9)
        #expect(bench.begun.last?.kind == .remove)
    }
}
