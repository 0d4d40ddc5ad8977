import ArgumentParser

struct Compare: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "All measurements on this machine, and a table of them.",
        discussion: """
            Prints a line for each measurement as it ends, then all of them as a Markdown table. P1 and P3, P2 and P4, P5 \
            and P6 share their runs. Sizes shrink to fit the free disk space. If this machine lacks something (rclone, \
            copyparty, root for P9), the row says so. --quick takes minutes and shows that everything works; fixed costs \
            weigh more there, and the bars are for the full sizes.
            """)

    @OptionGroup var options: Options
    @Flag(help: "Small sizes, for a first look.") var quick = false
    @Option(help: "How many times each contender runs (default: 5; 1 with --quick).") var pairs: Int?
    @Option(help: "The largest number of paths (P10; default: 1000000; 2000 with --quick).") var entries: Int?

    func validate() throws {
        guard pairs ?? 1 > 0, entries ?? 1 > 0 else { throw ValidationError("--pairs and --entries must be positive") }
    }

    func run() throws {
        var plan = quick ? ComparePlan.quick : .full
        plan.pairs = pairs ?? plan.pairs
        plan.paths = entries ?? plan.paths
        try Report.run(options) { workplace, report in
            let sizes = plan.fitting(freeBytes: try workplace.freeBytes())
            if sizes != plan { note("The disk is too small for the usual sizes; the table says which sizes were used") }
            Self.measure(sizes, workplace, &report)
            report.printTable()
        }
    }

    private static func measure(_ plan: ComparePlan, _ workplace: Workplace, _ report: inout Report) {
        let pairs = plan.pairs
        report.attempt("P1, P3", "one file of \(plan.large)") { report in
            try LargeFile.runBoth(size: plan.large, pairs: pairs, workplace) {
                report.add($0.time($1))
                report.add($0.cpu($1))
            }
        }
        report.attempt("P2, P4", "\(plan.files) files of 64 KiB") { report in
            let many = ManyFiles(count: plan.files, size: ByteCount(64 << 10), pairs: pairs)
            let series = try many.run(workplace)
            report.add(many.time(series))
            report.add(many.cpu(series))
            report.add(many.memory(series))
        }
        report.attempt("P4", "peak memory, a sparse file of \(plan.sparse)") { report in
            report.add(try SparseFile(size: plan.sparse, pairs: 1).run(workplace))
        }
        report.attempt("P5, P6", "drop → sidecar, drop → done") { report in
            let latency = Latency(count: plan.drops)
            latency.findings(try latency.run(workplace), ["P5", "P6"]).forEach { report.add($0) }
        }
        report.attempt("P7", "start with \(plan.finished) finished files → idle") { report in
            report.add(try StartUp(count: plan.finished, pairs: pairs).run(workplace))
        }
        report.attempt("P8", "an idle agent") { $0.add(try Idle().run(workplace)) }
        for shape in LinkShape.usual {
            report.attempt("P9", "uploads over \(shape.text)") { report in
                let upload = LongLinkUpload(
                    shape: shape, size: plan.linkFile, count: plan.linkFiles, pairs: pairs)
                try upload.run(workplace).forEach { report.add($0) }
            }
        }
        report.attempt("P10", "up to \(plan.paths) paths") { report in
            try Growth(sizes: P10.sizes(upTo: plan.paths), pairs: pairs).run(workplace) { report.add($0) }
        }
    }
}

/// The sizes of all measurements.
struct ComparePlan: Equatable {
    var pairs: Int
    /// The size of the large file (P1, P3).
    var large: ByteCount
    /// The number of small files (P2, P4).
    var files: Int
    /// The size of the sparse file (P4).
    var sparse: ByteCount
    /// Drops of each kind (P5, P6).
    var drops: Int
    /// Finished files at a start (P7).
    var finished: Int
    /// The large file on a long link (P9).
    var linkFile: ByteCount
    /// Small files on a long link (P9).
    var linkFiles: Int
    /// The largest number of paths (P10).
    var paths: Int
    static let full = ComparePlan(
        pairs: 5, large: ByteCount(4 << 30), files: 10_000, sparse: ByteCount(10 << 30), drops: 200, finished: 100_000,
        linkFile: ByteCount(256 << 20), linkFiles: 1000, paths: 1_000_000)

    static let quick = ComparePlan(
        pairs: 1, large: ByteCount(256 << 20), files: 500, sparse: ByteCount(1 << 30), drops: 20, finished: 2000,
        linkFile: ByteCount(16 << 20), linkFiles: 100, paths: 2000)

    /// Returns the plan with every size halved, or cut to a tenth, until it needs no more disk space than this.
    func fitting(freeBytes: Int64) -> ComparePlan {
        func halved(_ size: ByteCount, _ space: (ByteCount) -> Int64) -> ByteCount {
            var size = size
            while space(size) > freeBytes, size.bytes > 64 << 20 { size = ByteCount(size.bytes / 2) }
            return size
        }
        func cut(_ count: Int, _ space: (Int) -> Int64) -> Int {
            var count = count
            while space(count) > freeBytes, count > 1000 { count /= 10 }
            return count
        }
        var plan = self
        plan.large = halved(large, LargeFile.space)
        plan.sparse = halved(sparse, SparseFile.space)
        plan.files = cut(files) { ManyFiles.space($0, of: ByteCount(64 << 10)) }
        plan.finished = cut(finished, TinyFiles.space)
        plan.paths = cut(paths, TinyFiles.space)
        return plan
    }
}
