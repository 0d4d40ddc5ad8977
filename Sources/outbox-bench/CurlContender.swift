/// The manual way: `md5sum` of the file, then `curl` of the whole file in one request. For a single file.
struct CurlContender: Contender {
    /// Nil for curl alone.
    private let md5sum: String?
    private let curl: String
    private let bench: String
    private let discards: Bool

    var name: String { isRival ? "md5sum+curl" : "curl" }
    var isRival: Bool { md5sum != nil }

    /// - Parameters:
    ///   - hashes: Whether `md5sum` comes first.
    ///   - discards: Whether the server discards the file instead of writing it.
    init(_ programs: Programs, hashes: Bool = true, discards: Bool = false) throws {
        md5sum = hashes ? try Programs.find("md5sum") : nil
        curl = try Programs.find("curl")
        bench = programs.bench
        self.discards = discards
    }

    func upload(_ files: TestFiles, room: String) throws -> Sample {
        let place = discards ? [] : ["--directory", room]
        let sink = try ChildProcess(bench, ["sink"] + place, log: "\(room)/sink.log")
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
