import ArgumentParser
import Glibc
import LinuxSystem
import Logging
import MediaTools
import PictureJobs

/// Measures the drawing of avatars (P11): the picture worker shrinks camera pictures, compared with `vipsthumbnail`,
/// which uses the same library. Both use the same number of processes and read from the page cache.
struct AvatarDrawing {
    let count: Int
    let pairs: Int

    /// The side of the style in pixels: small and square, cropped around the centre, which `vipsthumbnail` supports
    /// as well.
    static let side = 96
    /// The agent's number of processes.
    private static let processes = Int(max(1, min(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 4)))

    func run(_ workplace: Workplace) throws -> Finding {
        note("\(count) pictures of 12 megapixels, \(Self.processes) at a time: outbox-media and vipsthumbnail")
        return try workplace.withTestFiles { directory in
            let pictures = try CameraPictures(count: count, directory: directory)
            let logger = Logger(label: "outbox-bench") { _ in SwiftLogNoOpLogHandler() }
            let worker = PictureWorker(program: workplace.programs.media, processes: Self.processes, logger: logger)
            defer { try? blocking { await worker.shutdown() } }
            let drawing = WorkerDrawing(worker: worker, processes: Self.processes)
            let rival = Thumbnailer(processes: Self.processes)
            // Warm up: in the agent, too, the processes already run before most pictures arrive.
            _ = try workplace.withRoom("warm-up") { try drawing.seconds(for: pictures.paths.prefix(8), into: $0) }

            var times: [(ours: Double, rival: Double?)] = []
            for pair in 1...pairs {
                try pictures.level()
                let ours = try workplace.withRoom("ours") { try drawing.seconds(for: pictures.paths[...], into: $0) }
                try pictures.level()
                let theirs = try rival.map { rival in
                    try workplace.withRoom("rival") { try rival.seconds(for: pictures.paths, room: $0) }
                }
                note(
                    "  \(pair) of \(pairs)  \(Text.seconds(ours)), \(theirs.map(Text.seconds) ?? "no other program to compare with")"
                )
                times.append((ours, theirs))
            }
            return finding(times)
        }
    }

    private func finding(_ times: [(ours: Double, rival: Double?)]) -> Finding {
        let ours = times.map(\.ours).median
        let rivals = times.compactMap(\.rival)
        let ratios = times.compactMap { time in time.rival.map { time.ours / $0 } }
        let what =
            "\(count) pictures of 12 megapixels as rect:\(Self.side)x\(Self.side), processes \(Self.processes)"
        guard !ratios.isEmpty else {
            return Finding(
                measure: "P11", what: what, figures: [],
                details: "no other program to compare with; outbox-media \(Text.seconds(ours))",
                medians: ["outbox-media": ours], count: pairs)
        }
        return .ratio(
            "P11", ratios, bar: 1.1, what: what, against: "vipsthumbnail",
            details: "outbox-media \(Text.seconds(ours)), vipsthumbnail \(Text.seconds(rivals.median))",
            medians: [("outbox-media", ours), ("vipsthumbnail", rivals.median)])
    }
}

struct P11: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Drawing avatars, against vipsthumbnail.")

    @OptionGroup var options: Options
    @OptionGroup var repetition: PairOptions
    @Option(help: "How many pictures.") var count = 1000

    func validate() throws {
        guard count > 0 else { throw ValidationError("--count must be positive") }
    }

    func run() throws {
        try Report.run(options) { workplace, report in
            report.add(try AvatarDrawing(count: count, pairs: repetition.pairs).run(workplace))
        }
    }
}

/// JPEGs of 4000 × 3000 pixels: a few different pictures under many names.
struct CameraPictures {
    let paths: [String]
    private let originals: TestFiles

    private static let distinct = 8

    init(count: Int, directory: String) throws {
        let ffmpeg = try Programs.find("ffmpeg")
        let names = (0..<min(count, Self.distinct)).map { "original-\($0).jpg" }
        for (number, name) in names.enumerated() {
            // Edges, colours and areas with sensor noise: 3 to 4 MB, like pictures from phones.
            let source = "testsrc2=size=4000x3000:rate=1,noise=alls=14:all_seed=\(number + 1)"
            let arguments = [
                "-loglevel", "error", "-f", "lavfi", "-i", source, "-frames:v", "1", "-q:v", "4", "-pix_fmt",
                "yuvj420p",
                "\(directory)/\(name)",
            ]
            let maker = try ChildProcess(ffmpeg, arguments, log: "\(directory)/ffmpeg.log")
            _ = try maker.finish(within: .seconds(120))
        }
        paths = try (0..<count).map { number in
            let path = "\(directory)/picture-\(number).jpg"
            guard link("\(directory)/\(names[number % names.count])", path) == 0 else { throw Failure.system(path) }
            return path
        }
        originals = TestFiles(directory: directory, names: names, bytesEach: 0)
    }

    /// Gives both programs the same start.
    func level() throws { try originals.level() }
}

/// Draws like the avatar cache: an open picture in, an open file out, one job at a time per process.
private struct WorkerDrawing {
    let worker: PictureWorker
    let processes: Int

    func seconds(for pictures: ArraySlice<String>, into directory: String) throws -> Double {
        let operation = PictureJob.Operation.draw(
            steps: [PictureStep.rect(width: AvatarDrawing.side, height: AvatarDrawing.side).description])
        let start = ContinuousClock.now
        try blocking { [worker, processes] in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for lane in 0..<processes {
                    group.addTask {
                        for number in stride(from: pictures.startIndex + lane, to: pictures.endIndex, by: processes) {
                            let picture = try SharedDescriptor(opening: pictures[number], flags: O_RDONLY)
                            let output = try SharedDescriptor(
                                opening: "\(directory)/\(number).png", flags: O_RDWR | O_CREAT, mode: 0o600)
                            do throws(PictureFailure) {
                                _ = try await worker.perform(
                                    operation, on: picture, into: output, maximumPixels: 50_000_000)
                            } catch {
                                throw Failure("\(pictures[number]): \(error.message)")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        return start.secondsAgo
    }
}

/// `vipsthumbnail`: divides the pictures among several processes, each with one thread and niceness 10, like
/// `outbox-media`.
private struct Thumbnailer {
    private let program: String
    private let nice: String
    private let processes: Int

    /// Returns nil and prints a note if the program is not installed.
    init?(processes: Int) {
        do {
            program = try Programs.find("vipsthumbnail")
            nice = try Programs.find("nice")
        } catch {
            note("  vipsthumbnail is skipped: \(error); install libvips-tools")
            return nil
        }
        self.processes = processes
    }

    func seconds(for pictures: [String], room: String) throws -> Double {
        let results = try Workplace.makeDirectory("\(room)/results")
        let side = AvatarDrawing.side
        let command = [
            "-n", "10", program, "--size", "\(side)x\(side)", "--smartcrop", "centre", "--output", "\(results)/%s.png",
        ]
        let start = ContinuousClock.now
        let children = try (0..<min(processes, pictures.count)).map { lane in
            let share = stride(from: lane, to: pictures.count, by: processes).map { pictures[$0] }
            return try ChildProcess(
                nice, command + share, log: "\(room)/\(lane).log", environment: ["VIPS_CONCURRENCY": "1"])
        }
        for child in children { _ = try child.finish(within: .seconds(120 + pictures.count)) }
        let seconds = start.secondsAgo
        let made = TextFile.names(in: results).count
        guard made == pictures.count else {
            throw Failure("vipsthumbnail made \(made) of \(pictures.count) pictures")
        }
        return seconds
    }
}
