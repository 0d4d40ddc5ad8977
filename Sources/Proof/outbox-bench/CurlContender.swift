/// The manual way: `md5sum` of the file, then `curl` of the whole file in one request. For a single file.
struct CurlContender: Contender {
    /// Nil for curl alone.
    private let md5sum: String?
    private let curl: String
    private let bench: String
    private let duty: Sink.Duty

    let isRival: Bool
    var name: String { (md5sum == nil ? "curl" : "md5sum+curl") + (isRival ? "" : duty.remark) }

    /// - Parameters:
    ///   - hashes: Whether `md5sum` comes first.
    ///   - duty: What the server does with the file.
    init(_ programs: Programs, hashes: Bool = true, to duty: Sink.Duty, isRival: Bool = true) throws {
        md5sum = hashes ? try Programs.find("md5sum") : nil
        curl = try Programs.find("curl")
        bench = programs.bench
        (self.duty, self.isRival) = (duty, isRival)
    }

    func upload(_ files: TestFiles, room: String) throws -> Sample {
        let sink = try ChildProcess(bench, ["sink"] + duty.arguments(directory: room), log: "\(room)/sink.log")
        defer { sink.stop() }
        let url = try sink.announcement(Sink.announcement)
        let file = "\(files.directory)/\(files.names[0])"
        let hashing = try md5sum.map { try measure($0, [file], files: files, room: room) }
        let sending = try measure(
            curl, ["--silent", "--show-error", "--fail", "--upload-file", file, "\(url)/"], files: files, room: room)
        guard let hashing else { return sending }
        return Sample(
            wall: hashing.wall + sending.wall, cpu: hashing.cpu + sending.cpu,
            peakMemory: max(hashing.peakMemory, sending.peakMemory))
    }
}
