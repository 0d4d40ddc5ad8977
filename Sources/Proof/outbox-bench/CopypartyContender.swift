/// copyparty's uploader `u2c` with its defaults, against a copyparty server.
struct CopypartyContender: Contender {
    let name = "u2c"
    let uploader: String
    let server: String

    init() throws {
        uploader = try Programs.find("u2c")
        server = try Programs.find("copyparty")
    }

    func upload(_ files: TestFiles, room: String) throws -> Sample {
        let port = try Loopback.freePort()
        let received = try Workplace.makeDirectory("\(room)/received")
        // --wram: also into a directory in memory.
        let server = try ChildProcess(
            server, ["-q", "-i", "127.0.0.1", "-p", "\(port)", "-v", "\(received)::A", "--no-thumb", "--wram"],
            log: "\(room)/server.log", environment: ["XDG_CONFIG_HOME": room])
        defer { server.stop() }
        try Loopback.waitUntilOpen(port, served: server)
        // -ns: no status panel. The trailing slash uploads the directory's contents instead of the directory.
        let sample = try measure(
            uploader, ["-ns", "http://127.0.0.1:\(port)/", "\(files.directory)/"], files: files, room: room)
        try checkArrived(files, in: received)
        return sample
    }
}
