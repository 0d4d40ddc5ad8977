/// The manual way: `md5sum` of the file, then `curl` of the whole file in one request. For a single file.
struct CurlContender: Contender {
    let name = "md5sum+curl"
    let md5sum: String
    let curl: String
    let bench: String

    init(_ programs: Programs) throws {
        md5sum = try Programs.find("md5sum")
        curl = try Programs.find("curl")
        bench = programs.bench
    }

    func upload(_ files: TestFiles, room: String) throws -> Sample {
        let sink = try ChildProcess(bench, ["sink", "--directory", room], log: "\(room)/sink.log")
        defer { sink.stop() }
        let url = try sink.announcement(Sink.announcement)
        let file = "\(files.directory)/\(files.names[0])"
        let hashing = try measure(md5sum, [file], files: files, room: room)
        let sending = try measure(
            curl, ["--silent", "--show-error", "--fail", "--upload-file", file, "\(url)/"], files: files, room: room)
        return Sample(
            wall: hashing.wall + sending.wall, cpu: hashing.cpu + sending.cpu,
            peakMemory: max(hashing.peakMemory, sending.peakMemory))
    }
}
