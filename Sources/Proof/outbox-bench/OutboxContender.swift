/// The agent after a cold start: a new process on an empty state directory, but idle at the drop of the files.
struct OutboxContender: Contender {
    let programs: Programs
    /// The link between the agent and its server; nil for loopback.
    var link: LongLink?
    var server = Installation.Server.receiver
    var name: String { isRival ? "outbox" : "outbox (not flushed)" }
    var isRival: Bool { server != .unflushed }

    func upload(_ files: TestFiles, room: String) throws -> Sample {
        let installation = try Installation(programs, in: room, server: server, over: link)
        defer { installation.stop() }
        let agent = installation.agent.reading
        let watch = try SidecarWatch(installation.outbox)
        let cpuBefore = agent.cpuSeconds ?? 0
        let start = ContinuousClock.now
        try files.move(from: files.directory, to: installation.outbox)
        try watch.waitUntilDone(files.names, agent: installation.agent, patience: patience(for: files))
        let wall = start.secondsAgo
        guard let cpu = agent.cpuSeconds else { throw Failure("the agent has ended") }
        installation.stop()
        try files.move(from: installation.outbox, to: files.directory)
        return Sample(wall: wall, cpu: cpu - cpuBefore, peakMemory: installation.agent.peakMemory.bytes)
    }
}
