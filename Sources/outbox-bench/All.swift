import ArgumentParser

struct All: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "All measurements. P1 and P3, P2 and P4, P5 and P6 share their runs. P9 needs root.")

    @OptionGroup var options: Options
    @OptionGroup var repetition: PairOptions
    @Option(help: "Size of the large file (P1, P3).") var large = ByteCount(4 << 30)
    @Option(help: "How many small files of 64 KiB (P2, P4).") var files = 10_000
    @Option(help: "Size of the sparse file (P4).") var sparse = ByteCount(10 << 30)
    @Option(help: "Drops of each kind (P5, P6).") var drops = 200
    @Option(help: "Entries of the large ledger (P10).") var entries = 1_000_000
    @Option(help: "Pictures to draw (P11).") var pictures = 1000

    func run() throws {
        try Report.run(options) { workplace, report in
            report.add(try Idle().run(workplace))

            let growth = LedgerGrowth(small: 1000, large: entries, files: 2000, pairs: repetition.pairs)
            report.add(try growth.run(workplace))

            try AvatarLookups(pictures: 2000, lookups: 50_000).run(workplace).forEach { report.add($0) }
            do {
                report.add(try AvatarDrawing(count: pictures, pairs: repetition.pairs).run(workplace))
            } catch {
                note("  P11 is skipped: \(error)")
            }

            let latency = Latency(count: drops)
            latency.findings(try latency.run(workplace), ["P5", "P6"]).forEach { report.add($0) }

            let large = LargeFile(size: large, pairs: repetition.pairs)
            let largeSeries = try large.run(workplace)
            report.add(large.time(largeSeries))
            report.add(large.cpu(largeSeries))

            let many = ManyFiles(count: files, size: ByteCount(64 << 10), pairs: repetition.pairs)
            let manySeries = try many.run(workplace)
            report.add(many.time(manySeries))
            report.add(many.memory(manySeries))

            report.add(try SparseFile(size: sparse, pairs: 1).run(workplace))

            do {
                for shape in LinkShape.usual {
                    let upload = LongLinkUpload(
                        shape: shape, size: ByteCount(256 << 20), count: 1000, pairs: repetition.pairs)
                    try upload.run(workplace).forEach { report.add($0) }
                }
            } catch {
                note("  P9 is skipped: \(error)")
            }
        }
    }
}
