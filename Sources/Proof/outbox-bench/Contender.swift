/// The cost of one upload.
struct Sample {
    /// Seconds from the drop, or the start of the program, until all files arrived.
    let wall: Double
    /// User and system time of the client without its server, in seconds.
    let cpu: Double
    /// The highest anonymous memory of the client, in bytes.
    let peakMemory: Int64

    var peakBytes: Double { Double(peakMemory) }
}

/// A way to upload files to a server.
protocol Contender {
    var name: String { get }
    /// Whether the agent is compared with this contender. If not, its figures are printed for information.
    var isRival: Bool { get }

    /// Uploads the files to a new server below `room`.
    func upload(_ files: TestFiles, room: String) throws -> Sample
}

extension Contender {
    var isRival: Bool { true }

    /// The timeout: far longer than any working upload.
    func patience(for files: TestFiles) -> Duration {
        .seconds(120 + Double(files.totalBytes) / 5e6 + Double(files.names.count) / 10)
    }

    /// Runs and measures a client that ends after the upload.
    func measure(
        _ program: String, _ arguments: [String], files: TestFiles, room: String,
        environment: [String: String] = [:]
    ) throws -> Sample {
        let start = ContinuousClock.now
        let client = try ChildProcess(program, arguments, log: "\(room)/client.log", environment: environment)
        let cost = try client.finish(within: patience(for: files))
        return Sample(wall: start.secondsAgo, cpu: cost.cpu, peakMemory: cost.peakMemory)
    }

    /// - Throws: `Failure` if files are missing in the server's directory.
    func checkArrived(_ files: TestFiles, in directory: String) throws {
        let missing = Set(files.names).subtracting(TextFile.names(in: directory))
        guard missing.isEmpty else { throw Failure("\(missing.count) of \(files.names.count) files did not arrive") }
    }
}

extension ContinuousClock.Instant {
    /// The seconds since this instant.
    var secondsAgo: Double { duration(to: .now) / .seconds(1) }
}
