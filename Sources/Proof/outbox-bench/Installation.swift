import Glibc

/// A new agent with the default configuration and a new server, in a directory of their own.
final class Installation {
    /// The agent's server.
    enum Server: Equatable {
        case receiver
        /// A receiver that, as the servers of the rivals, does not wait until the disk has what it confirms.
        case unflushed
        /// A sink that answers like a server and discards all bytes.
        case discarding
        /// The S3 server of rclone.
        case s3
        /// The tus server of the package `resumable-upload`.
        case tus
        /// Nothing listens at the server's address.
        case away
        /// A server that runs already.
        case running(Remote)
    }

    /// How the agent reaches a server.
    struct Remote: Equatable {
        /// The lines of the table `[remote]`.
        let table: String
        /// The credentials.
        var environment: [String: String] = [:]
    }

    /// The cost of a start.
    struct Start {
        /// Seconds from the start of the process until the agent is idle.
        let wall: Double
        /// User and system time until then, in seconds.
        let cpu: Double
    }

    /// The default of `intake.settle`, in seconds.
    static let settle = 0.25

    let outbox: String
    let control: ControlRequest
    private(set) var agent: ChildProcess
    private let server: ChildProcess?
    private let startAgent: () throws -> ChildProcess

    /// The token for a server that is not on loopback.
    private static let token = "outbox-bench-token-0123456789abcdef"

    /// Starts both programs and waits until the agent is idle.
    ///
    /// - Parameter link: The link between the agent and a receiver; nil for loopback.
    init(
        _ programs: Programs, in directory: String, server kind: Server = .receiver, over link: LongLink? = nil
    ) throws {
        outbox = try Workplace.makeDirectory("\(directory)/outbox")
        control = ControlRequest(socket: "\(directory)/state/control.sock")
        let startServer = { try Self.startServer(kind, programs, in: directory, isRemote: link != nil) }
        let (server, remote) = try link?.atServer(startServer) ?? startServer()
        self.server = server
        let configuration = "\(directory)/agent.toml"
        let startAgent = {
            let start = {
                try ChildProcess(
                    programs.outbox, ["run", "--config", configuration], log: "\(directory)/agent.log",
                    environment: remote.environment)
            }
            return try link?.atClient(start) ?? start()
        }
        self.startAgent = startAgent
        do {
            try TextFile.write(
                Self.configuration(remote.table), to: configuration)
            agent = try startAgent()
        } catch {
            server?.stop()
            throw error
        }
        do {
            _ = try waitUntilIdle()
        } catch {
            stop()
            throw error
        }
    }

    func stop() {
        agent.stop()
        server?.stop()
    }

    /// Gives an idle agent the time to return memory that it does not need.
    func rest() { sleep(4) }

    /// Stops the agent alone.
    ///
    /// - Throws: `Failure` if the agent does not end by itself.
    func stopAgent() throws {
        guard agent.stop() else { throw Failure("the agent did not end within 10 s; see \(agent.log)") }
    }

    /// Starts the agent again, and waits until it is idle.
    func restartAgent() throws -> Start {
        agent = try startAgent()
        return try waitUntilIdle()
    }

    private static func startServer(
        _ kind: Server, _ programs: Programs, in directory: String, isRemote: Bool
    ) throws -> (process: ChildProcess?, remote: Remote) {
        let address = isRemote ? LongLink.serverAddress : "127.0.0.1"
        func answering(_ process: ChildProcess, _ announcement: String) throws -> (ChildProcess?, Remote) {
            do {
                let url = try process.announcement(announcement)
                return (process, filesection(at: url, isRemote: isRemote))
            } catch {
                process.stop()
                throw error
            }
        }
        switch kind {
        case .receiver, .unflushed:
            let options = kind == .unflushed ? ["--no-sync"] : []
            let receiver = try ChildProcess(
                programs.receiver, ["--root", "\(directory)/received", "--listen", "\(address):0"] + options,
                log: "\(directory)/receiver.log",
                environment: isRemote ? ["OUTBOX_RECEIVER_TOKENS": "\(Self.token) bench"] : [:])
            return try answering(receiver, "outbox-receiver listening on ")
        case .discarding:
            let sink = try ChildProcess(programs.bench, ["sink"], log: "\(directory)/sink.log")
            return try answering(sink, Sink.announcement)
        case .s3: return try LocalServer.s3(in: directory, at: address)
        case .tus: return try LocalServer.tus(in: directory, at: address)
        // Nothing listens on port 1 (tcpmux) of any usual machine.
        case .away: return (nil, filesection(at: "http://127.0.0.1:1", isRemote: isRemote))
        case .running(let remote): return (nil, remote)
        }
    }

    private static func filesection(at url: String, isRemote: Bool) -> Remote {
        Remote(
            table: "url = \"\(url)\"\ninsecure_http = \(isRemote)",
            environment: isRemote ? ["OUTBOX_TOKEN": token] : [:])
    }

    private static func configuration(_ remote: String) -> String {
        """
        outbox = "outbox"
        state = "state"
        avatars = "avatars"

        [remote]
        \(remote)

        [control]
        dashboard = ""

        """
    }

    /// Waits until the agent has scanned the outbox and uses almost no CPU time.
    ///
    /// - Returns: The cost since this call, which follows the start of the process.
    private func waitUntilIdle() throws -> Start {
        let start = ContinuousClock.now
        var spell = QuietSpell()
        while start.secondsAgo < 600 {
            try agent.checkRunning()
            if let since = spell.add(cpu: agent.reading.cpuSeconds ?? 0, at: start.secondsAgo) {
                if try control.health()?.scanned == true { return Start(wall: since.time, cpu: since.cpu) }
                spell = QuietSpell()
            }
            usleep(5000)
        }
        throw Failure("the agent was not idle within 600 s; see \(agent.log)")
    }
}

/// The paths of the measured programs.
struct Programs {
    let outbox: String
    let receiver: String
    /// May be missing: only pictures need this program.
    let media: String
    let bench: String

    /// - Throws: `Failure` if a program of this package is missing.
    init(directory: String?) throws {
        guard let resolved = realpath("/proc/self/exe", nil) else { throw Failure.system("/proc/self/exe") }
        defer { free(resolved) }
        bench = String(cString: resolved)
        let own = bench.split(separator: "/").dropLast().joined(separator: "/")
        let directory = directory ?? "/\(own)"
        outbox = "\(directory)/outbox"
        receiver = "\(directory)/outbox-receiver"
        media = "\(directory)/outbox-media"
        for program in [outbox, receiver] where access(program, X_OK) != 0 {
            throw Failure("\(program) is missing; build it first (make build), or set --bin-dir")
        }
    }

    /// Returns the path of a system program.
    ///
    /// - Throws: `Failure` if the program is not installed.
    static func find(_ name: String) throws -> String {
        let directories = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        let candidates = directories.split(separator: ":").map { "\($0)/\(name)" }
        guard let program = candidates.first(where: { access($0, X_OK) == 0 }) else {
            throw Failure("there is no \(name) in PATH")
        }
        return program
    }
}
