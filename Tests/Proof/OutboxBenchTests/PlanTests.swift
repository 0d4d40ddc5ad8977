import Testing

@testable import outbox_bench

@Suite struct PlanTests {
    @Test func `a plan that fits the disk stays as it is`() {
        #expect(ComparePlan.full.fitting(freeBytes: 100 << 30) == .full)
    }

    @Test(arguments: [(20, 4, 10_000, 10, 100_000, 1_000_000), (6, 1, 10_000, 2, 100_000, 100_000)])
    func `sizes shrink to fit the disk`(
        freeGiB: Int, largeGiB: Int, files: Int, sparseGiB: Int, finished: Int, paths: Int
    ) {
        let free = Int64(freeGiB) << 30
        let plan = ComparePlan.full.fitting(freeBytes: free)
        #expect(plan.large == ByteCount(Int64(largeGiB) << 30))
        #expect(plan.files == files)
        #expect(plan.sparse.bytes <= free)
        #expect(plan.sparse.bytes >> 30 == Int64(sparseGiB))
        #expect(plan.finished == finished)
        #expect(plan.paths == paths)
    }

    @Test(arguments: [
        (500, [500]), (1000, [1000]), (2000, [1000, 2000]), (50_000, [1000, 5000, 50_000]),
        (1_000_000, [1000, 10_000, 100_000, 1_000_000]),
    ])
    func `numbers of paths begin with 1000`(most: Int, sizes: [Int]) {
        #expect(P10.sizes(upTo: most) == sizes)
    }
}

@Suite struct QuietSpellTests {
    @Test func `a process is quiet since the first moment of half a second without work`() {
        var spell = QuietSpell()
        // Works until 0.3 s, then uses 1 ms in 0.1 s.
        let readings: [(time: Double, cpu: Double)] = [
            (0, 0), (0.1, 0.1), (0.2, 0.2), (0.3, 0.3), (0.4, 0.301), (0.5, 0.301), (0.7, 0.301),
        ]
        for reading in readings { #expect(spell.add(cpu: reading.cpu, at: reading.time) == nil) }
        #expect(spell.add(cpu: 0.301, at: 0.81) == QuietSpell.Moment(time: 0.3, cpu: 0.3))
    }

    @Test func `work begins the wait anew`() {
        var spell = QuietSpell()
        #expect(spell.add(cpu: 0, at: 0) == nil)
        #expect(spell.add(cpu: 0.1, at: 0.6) == nil)
        #expect(spell.add(cpu: 0.1, at: 1) == nil)
        #expect(spell.add(cpu: 0.1, at: 1.2) == QuietSpell.Moment(time: 0.6, cpu: 0.1))
    }
}

@Suite struct SinkTests {
    @Test func `the head of a request gives target, length and whether the client waits`() {
        let upload = SinkRequest(
            "PUT /a.mp4 HTTP/1.1\r\nHost: x\r\ncontent-length:  12\r\nExpect: 100-Continue\r\n\r\n")
        #expect(upload.target == "/a.mp4")
        #expect(upload.contentLength == 12)
        #expect(upload.expectsContinue)
        let question = SinkRequest("GET / HTTP/1.1\r\n\r\n")
        #expect(question.contentLength == 0 && !question.expectsContinue)
    }

    @Test func `a server that discards gives each file an id, and says that it has every file`() {
        let answers = SinkAnswers(url: "http://sink")
        let registration = Array(#"{"fileCount":2,"files":[{"fileName":"a"},{"fileName":"b"}]}"#.utf8)
        #expect(answers.answer(.preLoad, to: registration).contains(#""fileIds":["1","2"]"#))
        #expect(answers.answer(.preLoad, to: registration).contains(#""fileIds":["3","4"]"#))
        let end = answers.answer(.isFinish, to: Array(#"{"fileIds":["3","4"]}"#.utf8))
        #expect(end.contains(#""finishStatus":1,"failFileIds":"","urls":{"3":"http://sink/3","4":"http://sink/4"}"#))
        #expect(answers.answer(.isFinish, to: Array("nonsense".utf8)).contains(#""code":400"#))
    }
}
