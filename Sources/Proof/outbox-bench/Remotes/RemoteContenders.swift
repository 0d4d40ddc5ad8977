/// The agent with a real server.
struct RemoteOutboxContender: Contender {
    let name = "outbox"
    let programs: Programs
    let server: RealServer

    func upload(_ files: TestFiles, room: String) throws -> Sample {
        let remote = Installation.Remote(table: server.table(place: Place.new()), environment: server.environment)
        return try OutboxContender(programs: programs, server: .running(remote)).upload(files, room: room)
    }
}

/// `rclone copy --transfers 5` to a real S3 server.
struct RemoteRcloneContender: Contender {
    let name = "rclone"
    let server: RealServer
    private let rclone: String

    init(_ server: RealServer) throws {
        self.server = server
        rclone = try Programs.find("rclone")
    }

    func upload(_ files: TestFiles, room: String) throws -> Sample {
        let bucket = server.settings["remote.bucket"] ?? ""
        return try measure(
            rclone,
            [
                "copy", files.directory, ":s3:\(bucket)/\(Place.new())", "--transfers", "5", "--s3-provider", "Other",
                "--s3-endpoint", server.url, "--s3-env-auth", "--s3-no-check-bucket",
            ], files: files, room: room,
            environment: server.environment.merging(["RCLONE_CONFIG": "/dev/null"]) { $1 })
    }
}

/// The tus client for Python, `tuspy`, with five files at a time and otherwise its defaults.
struct TuspyContender: Contender {
    let server: RealServer
    /// Whether it computes the MD5 of each file first and sends it along, as the agent does. `tuspy` alone computes no
    /// digest.
    let hashes: Bool
    private let python: String

    var name: String { hashes ? "md5+tuspy" : "tuspy" }
    var isRival: Bool { hashes }

    /// Takes the creation URL, up to a placeholder for the file's name if there is one, and the directory. A third
    /// argument asks for the MD5.
    private static let script = """
        import hashlib, os, sys
        from concurrent.futures import ThreadPoolExecutor
        from tusclient.client import TusClient

        url, directory, *digest = sys.argv[1:]
        token = os.environ.get("OUTBOX_TOKEN")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        start, _, hole = url.partition("{")

        def upload(name):
            client = TusClient(start + name if hole else url, headers=headers)
            path = os.path.join(directory, name)
            metadata = {"filename": name, "filetype": "application/octet-stream"}
            if digest:
                with open(path, "rb") as file:
                    metadata["md5"] = hashlib.file_digest(file, "md5").hexdigest()
            client.uploader(path, metadata=metadata).upload()

        with ThreadPoolExecutor(5) as pool:
            list(pool.map(upload, os.listdir(directory)))

        """

    init(_ server: RealServer, hashes: Bool) throws {
        (self.server, self.hashes) = (server, hashes)
        python = try Programs.find("python")
    }

    func upload(_ files: TestFiles, room: String) throws -> Sample {
        let program = "\(room)/upload.py"
        try TextFile.write(Self.script, to: program)
        return try measure(
            python, [program, server.url, files.directory] + (hashes ? ["md5"] : []), files: files, room: room,
            environment: server.environment)
    }
}

/// Names of places on a server that no contender used before.
private enum Place {
    static func new() -> String { "bench-\(UInt32.random(in: .min ... .max))" }
}
