import ArgumentParser

/// Measures uploads to servers of somebody else's: time and CPU (P1, P3), time and memory (P2, P4).
struct Remotes: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "servers",
        abstract: "P1 to P4 with real S3 and tus servers, compared with rclone and tuspy.",
        discussion: """
            Contenders take turns on the same running server, each in a place of its own. `make bench-servers` starts the \
            servers. The rival on tus computes the MD5 of each file first, as md5sum before curl in P1; tuspy without it \
            is shown beside.
            """)

    @OptionGroup var options: Options
    @OptionGroup var repetition: PairOptions
    @Option(help: "Size of the large file.") var size = ByteCount(1 << 30)
    @Option(help: "How many small files, of 64 KiB each.") var count = 2000

    func run() throws {
        try Report.run(options) { workplace, report in
            for server in try RealServer.running() {
                report.attempt("P1, P3", "one file of \(size) to \(server.title)") { report in
                    let series = try measure(1, of: size, server, workplace)
                    let what = "one file of \(size) to \(server.title)"
                    report.add(.ratio("P1", of: \.wall, in: series, bar: 1, what: what, show: Text.seconds))
                    report.add(.ratio("P3", of: \.cpu, in: series, bar: 1, what: "CPU, \(what)", show: Text.seconds))
                }
                report.attempt("P2, P4", "\(count) files of 64 KiB to \(server.title)") { report in
                    let series = try measure(count, of: ByteCount(64 << 10), server, workplace)
                    let what = "\(count) files of 64 KiB to \(server.title)"
                    report.add(.ratio("P2", of: \.wall, in: series, bar: 1, what: what, show: Text.seconds))
                    report.add(.ratio("P3", of: \.cpu, in: series, bar: 1, what: "CPU, \(what)", show: Text.seconds))
                    report.add(
                        .ratio(
                            "P4", of: \.peakBytes, in: series, bar: 1, what: "peak memory, \(what)", show: Text.memory))
                }
            }
            report.printTable()
        }
    }

    private func measure(_ count: Int, of size: ByteCount, _ server: RealServer, _ workplace: Workplace) throws
        -> Series
    {
        try workplace.require(freeBytes: ManyFiles.space(count, of: size))
        note("\(count) of \(size) to \(server.title)")
        return try workplace.withTestFiles { directory in
            let files = try TestFiles.make(count, of: size.bytes, in: directory)
            let outbox = RemoteOutboxContender(programs: workplace.programs, server: server)
            let others: [any Contender] =
                server.protocol == "s3"
                ? [try RemoteRcloneContender(server)]
                : [try TuspyContender(server, hashes: true), try TuspyContender(server, hashes: false)]
            return try Series([outbox] + others, files: files, pairs: repetition.pairs, workplace: workplace)
        }
    }
}
