import Glibc

/// A new receiver and a new agent with the default configuration, in a directory of their own.
struct Installation {
    /// The default of `intake.settle`, in seconds.
    static let settle = 0.25

    let outbox: String
    let agent: ChildProcess
    private let receiver: ChildProcess

    /// The token for a server that is not on loopback.
    private static let token = "outbox-bench-token-0123456789abcdef"

    /// Starts both programs and waits until the agent is idle.
    ///
    /// - Parameter link: The link between the programs; nil for loopback.
    init(_ programs: Programs, in directory: String, over link: LongLink? = nil) throws {
        outbox = try Workplace.makeDirectory("\(directory)/outbox")
        let address = link == nil ? "127.0.0.1" : LongLink.serverAddress
        let startReceiver = {
            try ChildProcess(
                programs.receiver, ["--root", "\(directory)/received", "--listen", "\(address):0"],
                log: "\(directory)/receiver.log",
                environment: link == nil ? [:] : ["OUTBOX_RECEIVER_TOKENS": "\(Self.token) bench"])
        }
        receiver = try link?.atServer(startReceiver) ?? startReceiver()
        do {
            let url = try receiver.announcement("outbox-receiver listening on ")
            let configuration = "\(directory)/agent.toml"
            try TextFile.write(Self.configuration(url: url, isRemote: link != nil), to: configuration)
            let startAgent = {
                try ChildProcess(
                    programs.outbox, ["run", "--config", configuration], log: "\(directory)/agent.log",
                    environment: link == nil ? [:] : ["OUTBOX_TOKEN": Self.token])
            }
            agent = try link?.atClient(startAgent) ?? startAgent()
        } catch {
            receiver.stop()
            throw error
        }
        do {
            try waitUntilIdle()
        } catch {
            stop()
            throw error
        }
    }

    func stop() {
        agent.stop()
        receiver.stop()
    }

    private static func configuration(url: String, isRemote: Bool) -> String {
        """
        outbox = "outbox"
        state = "state"
        avatars = "avatars"

        [remote]
        url = "\(url)"
        insecure_http = \(isRemote)

        [control]
        dashboard = ""

        """
    }

    /// Waits until the agent watches the outbox and uses almost no CPU time.
    private func waitUntilIdle() throws {
        for _ in 0..<60 {
            try agent.checkRunning()
            let before = agent.reading.cpuSeconds ?? 0
            usleep(500_000)
            let used = (agent.reading.cpuSeconds ?? 0) - before
            if agent.reading.hasInotifyWatch, used < 0.005 { return }
        }
        throw Failure("the agent was not idle within 30 s; see \(agent.log)")
    }
}
