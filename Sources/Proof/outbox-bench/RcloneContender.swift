/// `rclone copy --transfers 5` to rclone's own S3 server.
struct RcloneContender: Contender {
    let name = "rclone"
    let rclone: String

    init() throws {
        rclone = try Programs.find("rclone")
    }

    func upload(_ files: TestFiles, room: String) throws -> Sample {
        let root = try Workplace.makeDirectory("\(room)/s3")
        let bucket = try Workplace.makeDirectory("\(root)/bucket")
        // Ignore the user's configuration.
        let environment = ["RCLONE_CONFIG": "/dev/null"]
        let port = try Loopback.freePort()
        let server = try ChildProcess(
            rclone,
            ["serve", "s3", "--addr", "127.0.0.1:\(port)", "--auth-key", "outbox,benchmark", root],
            log: "\(room)/server.log", environment: environment)
        defer { server.stop() }
        try Loopback.waitUntilOpen(port, served: server)
        let sample = try measure(
            rclone,
            [
                "copy", files.directory, ":s3:bucket", "--transfers", "5", "--s3-provider", "Rclone",
                "--s3-endpoint", "http://127.0.0.1:\(port)", "--s3-access-key-id", "outbox",
                "--s3-secret-access-key", "benchmark",
            ], files: files, room: room, environment: environment)
        try checkArrived(files, in: bucket)
        return sample
    }
}
