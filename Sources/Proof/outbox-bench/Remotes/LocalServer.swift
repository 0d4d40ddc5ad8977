/// Servers of somebody else's in one process each, for measurements that need a new one each time.
enum LocalServer {
    /// Starts `rclone serve s3` with one bucket.
    ///
    /// - Parameter address: where it listens. `0.0.0.0` makes it answer on loopback too, as the start needs.
    static func s3(in directory: String, at address: String) throws -> (ChildProcess, Installation.Remote) {
        let (keys, bucket) = ((id: "outbox", secret: "benchmark"), "bucket")
        let root = try Workplace.makeDirectory("\(directory)/s3")
        try Workplace.makeDirectory("\(root)/\(bucket)")
        // Ignore the user's configuration.
        let (server, port) = try start("rclone", in: directory, environment: ["RCLONE_CONFIG": "/dev/null"]) {
            ["serve", "s3", "--addr", "0.0.0.0:\($0)", "--auth-key", "\(keys.id),\(keys.secret)", root]
        }
        let table = "protocol = \"s3\"\nurl = \"http://\(address):\(port)\"\nbucket = \"\(bucket)\""
        return (
            server,
            Installation.Remote(
                table: table, environment: ["AWS_ACCESS_KEY_ID": keys.id, "AWS_SECRET_ACCESS_KEY": keys.secret])
        )
    }

    /// Starts the tus server of the package `resumable-upload`.
    static func tus(in directory: String, at address: String) throws -> (ChildProcess, Installation.Remote) {
        let files = try Workplace.makeDirectory("\(directory)/tus")
        let (server, port) = try start("resumable-upload", in: directory) {
            [
                "serve", "--host", "0.0.0.0", "--port", "\($0)", "--upload-dir", files, "--db-path",
                "\(directory)/tus.db", "--log-level", "WARNING",
            ]
        }
        return (server, Installation.Remote(table: "protocol = \"tus\"\nurl = \"http://\(address):\(port)/files\""))
    }

    /// Starts a server at a free port, and waits until it listens.
    private static func start(
        _ program: String, in directory: String, environment: [String: String] = [:],
        _ arguments: (_ port: UInt16) -> [String]
    ) throws -> (ChildProcess, UInt16) {
        let port = try Loopback.freePort()
        let server = try ChildProcess(
            try Programs.find(program), arguments(port), log: "\(directory)/server.log", environment: environment)
        try Loopback.waitUntilOpen(port, served: server)
        return (server, port)
    }
}
