/// What one upload took.
struct Sample {
    /// From the drop, or the start of the program, until everything had arrived; in seconds.
    let wall: Double
    /// User and system time of the client, without its server; in seconds.
    let cpu: Double
    /// The most memory the client held at once, in bytes.
    let peakMemory: Int64

    var peakBytes: Double { Double(peakMemory) }
}

/// A way to get files to a server.
protocol Contender {
    var name: String { get }

    /// Uploads the files to a fresh server of its own, below `room`.
    func upload(_ files: TestFiles, room: String) throws -> Sample
}

extension Contender {
    /// Far more than anything takes that works.
    func patience(for files: TestFiles) -> Duration {
        .seconds(120 + Double(files.totalBytes) / 5e6 + Double(files.names.count) / 10)
    }

    /// Runs a client that ends when all is uploaded, and measures it.
    func measure(
        _ program: String, _ arguments: [String], files: TestFiles, room: String,
        environment: [String: String] = [:]
    ) throws -> Sample {
        let start = ContinuousClock.now
        let client = try ChildProcess(program, arguments, log: "\(room)/client.log", environment: environment)
        let cost = try client.finish(within: patience(for: files))
        return Sample(wall: start.secondsAgo, cpu: cost.cpu, peakMemory: cost.peakMemory)
    }

    /// - Throws: `Failure` if not all files are in a server's directory.
    func checkArrived(_ files: TestFiles, in directory: String) throws {
        let missing = Set(files.names).subtracting(TextFile.names(in: directory))
        guard missing.isEmpty else { throw Failure("\(missing.count) of \(files.names.count) files did not arrive") }
    }
}

extension ContinuousClock.Instant {
    /// How long ago this was.
    var secondsAgo: Double { duration(to: .now) / .seconds(1) }
}
