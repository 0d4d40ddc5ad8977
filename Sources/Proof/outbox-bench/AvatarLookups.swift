import ArgumentParser
import Avatars
import HTTPTypes
import LinuxSystem
import Logging
import MediaTools
import PictureJobs

/// Measures look-ups of pictures in the avatar cache: in memory, and in the mirror on disk. The cache fetches and
/// draws nothing during the measurement.
struct AvatarLookups {
    /// The storage that answers.
    enum Source: String, CaseIterable {
        case memory, disk
    }

    /// The usual size of a picture of 96 × 96 pixels, in bytes.
    static let size = 12 << 10

    let pictures: Int
    let lookups: Int

    func run(_ workplace: Workplace) throws -> [Finding] {
        note("\(lookups) look-ups of \(pictures) avatars, one at a time")
        return try workplace.withRoom("avatars") { room in
            try Source.allCases.map { source in
                let seconds = try blocking { try await measure(source, directory: "\(room)/\(source)") }
                return finding(source, seconds)
            }
        }
    }

    private func finding(_ source: Source, _ seconds: [Double]) -> Finding {
        func microseconds(_ name: String, _ seconds: Double) -> Finding.Figure {
            Finding.Figure(name: name, value: seconds * 1e6, unit: "µs", bar: nil)
        }
        return Finding(
            measure: "avatars", what: "\(pictures) pictures of \(Self.size >> 10) KiB from \(source)",
            figures: [
                Finding.Figure(name: "rate", value: Double(lookups) / seconds.reduce(0, +), unit: "/s", bar: nil),
                microseconds("p50", seconds.median), microseconds("p99", seconds.percentile(0.99)),
            ], details: "", count: lookups, counted: "look-ups")
    }

    /// Returns the seconds of each look-up.
    private func measure(_ source: Source, directory: String) async throws -> [Double] {
        let cache = AvatarCache(
            store: try DiskAvatarStore(directory: directory), fetcher: MadeUpPictures(), pictures: NoWorker(),
            options: AvatarOptions(memoryLimit: source == .memory ? 2 * pictures * Self.size : 0),
            logger: Logger(label: "outbox-bench") { _ in SwiftLogNoOpLogHandler() })
        let addresses = try (0..<pictures).map { try AvatarAddress("https://example.org/u/\($0 / 100)/\($0).png") }
        for address in addresses { _ = try await cache.picture(address, .original) }
        var seconds: [Double] = []
        // A step without a common divisor visits all pictures in a scattered order.
        for number in 0..<lookups {
            let start = ContinuousClock.now
            _ = try await cache.picture(addresses[number &* 7919 % pictures], .original)
            seconds.append(start.secondsAgo)
        }
        return seconds
    }
}

/// Replaces servers: the first bytes of a PNG, then filler that nobody reads.
private struct MadeUpPictures: AvatarFetching {
    func fetch(_ request: AvatarRequest, into draft: SharedDescriptor) async throws(AvatarFetchError) -> AvatarAnswer {
        let start: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        let picture = start + [UInt8](repeating: 7, count: AvatarLookups.size - start.count)
        do {
            try writeAll(picture, to: draft.rawValue)
        } catch {
            throw .storage("\(error)")
        }
        return AvatarAnswer(content: .body(length: UInt64(picture.count)), fields: [:])
    }
}

private struct NoWorker: PictureWorking {
    func perform(
        _ operation: PictureJob.Operation, on picture: SharedDescriptor, into output: SharedDescriptor?,
        maximumPixels: Int
    ) async throws(PictureFailure) -> PictureFacts {
        throw .unavailable("nothing is drawn here")
    }
}

struct AvatarsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "avatars", abstract: "Look-ups of the avatar cache, from memory and from disk.")

    @OptionGroup var options: Options
    @Option(help: "How many pictures.") var pictures = 2000
    @Option(help: "How many look-ups of each kind.") var lookups = 50_000

    func run() throws {
        try Report.run(options) { workplace, report in
            try AvatarLookups(pictures: pictures, lookups: lookups).run(workplace).forEach { report.add($0) }
        }
    }
}
