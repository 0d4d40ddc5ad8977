/// curl over a long link. It sends the bytes of all files in a single request.
struct LinkCurlContender: Contender {
    let name = "curl"
    let curl: String
    let bench: String
    let link: LongLink

    init(_ programs: Programs, _ link: LongLink) throws {
        curl = try Programs.find("curl")
        bench = programs.bench
        self.link = link
    }

    func upload(_ files: TestFiles, room: String) throws -> Sample {
        let sink = try link.atServer {
            try ChildProcess(
                bench, ["sink", "--directory", room, "--address", LongLink.serverAddress], log: "\(room)/sink.log")
        }
        defer { sink.stop() }
        let url = try sink.announcement(Sink.announcement)
        let whole = files.names.count == 1 ? files : try TestFiles.make(1, of: files.totalBytes, in: room)
        try whole.level()
        return try link.atClient {
            let file = "\(whole.directory)/\(whole.names[0])"
            return try measure(
                curl, ["--silent", "--show-error", "--fail", "--upload-file", file, "\(url)/"], files: files,
                room: room)
        }
    }
}
