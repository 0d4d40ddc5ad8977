import Foundation
import LinuxSystem
import Products
import TestSupport

/// Pictures and videos with positions, made with exiftool and ffmpeg.
struct LocationFiles {
    let media: MediaFiles
    private let exiftool: String

    static let exiftool = LocationRemover.findProgram(in: ProcessInfo.processInfo.environment["PATH"])
    static let exiv2 = "/usr/bin/exiv2"
    /// The position in all files, in the spellings of formats: decimal, and degrees and minutes.
    static let latitude = "48.1375"
    static let longitude = "11.5755"

    init() throws {
        media = try MediaFiles()
        guard let exiftool = Self.exiftool else { throw MediaFiles.Trouble(description: "these tests need exiftool") }
        self.exiftool = exiftool
    }

    func path(_ name: String) -> String { media.directory.path(name) }

    func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(filePath: path(name))) }

    /// Makes a picture or video without positions. Videos have a picture and sound, both coded.
    func base(_ name: String) async throws {
        let kind = name.split(separator: ".").last.map(String.init) ?? ""
        switch kind {
        case "heic":
            try copy(Repository.path("Tests/MediaWorkerTests/Fixtures/heic.heic"), to: name)
        case "avif":
            try copy(Repository.path("Tests/MediaWorkerTests/Fixtures/avif.avif"), to: name)
        case "dng":
            try await base("dng.tif")
            try copy(path("dng.tif"), to: name)
            try await tag(name, ["-DNGVersion=1.4.0.0"])
        case "jxl":
            // exiftool writes into the container only, and wraps a bare codestream with -m.
            try await media.make("-f lavfi -i testsrc=size=96x64 -frames:v 1 \(name)")
            try await tag(name, ["-m", "-XMP:Creator=somebody"])
        case "jpg", "png", "webp", "tif", "gif":
            try await media.make("-f lavfi -i testsrc=size=96x64 -frames:v 1 \(name)")
            if kind != "gif" { try await tag(name, ["-Artist=somebody", "-DateTimeOriginal=2026:01:02 03:04:05"]) }
        default:
            let codecs = [
                "webm": "-c:v libvpx -c:a libopus", "flv": "-c:v flv1 -c:a aac", "avi": "-c:v mpeg4 -c:a mp3",
            ]
            let codec = codecs[kind] ?? "-c:v mpeg4 -c:a aac"
            try await media.make(
                "-f lavfi -i testsrc=size=96x64:rate=10 -f lavfi -i sine=sample_rate=48000 -t 1 -ac 1 \(codec) "
                    + "-metadata title=kept \(name)")
        }
    }

    /// Copies a file of the test.
    func copy(_ from: String, to name: String) throws {
        try FileManager.default.copyItem(atPath: from, toPath: path(name))
    }

    /// Has exiftool write tags to a file.
    func tag(_ name: String, _ tags: [String]) async throws {
        _ = try await run(exiftool, ["-config", "", "-q", "-q", "-overwrite_original"] + tags + [path(name)])
    }

    /// Everything that a second reader prints about a file: exiv2 for pictures, ffprobe for videos.
    func secondReading(of name: String) async throws -> String {
        let isVideo = ["mp4", "mov", "m4v", "3gp", "3g2", "mkv", "webm", "avi"].contains { name.hasSuffix($0) }
        if isVideo {
            return try await media.probe(path(name), "format_tags:stream_tags:stream=index").joined(separator: "\n")
        }
        guard FileManager.default.isExecutableFile(atPath: Self.exiv2) else { return "" }
        // exiv2 exits with 1 if there are no metadata, and with more for types that it does not know.
        let directory = media.directory.path
        let arguments = ["-pa", path(name)]
        return try await Program.run(Self.exiv2, arguments, environment: [:], directory: directory).standardOutput
    }

    /// A digest of the decoded pictures, or of the coded streams of picture and sound.
    func essence(of name: String) async throws -> String {
        let isVideo = ["mp4", "mov", "m4v", "3gp", "3g2", "mkv", "webm"].contains { name.hasSuffix($0) }
        let options = isVideo ? "-map 0:V -map 0:a -c copy -f streamhash" : "-map 0:v -f framemd5"
        // ffmpeg 5 decodes no HEIC; its coded picture is looked for instead.
        if name.hasSuffix("heic") { return try codedPicture(of: name) }
        try await media.make("-i \(path(name)) \(options) essence")
        return media.directory.text("essence")
    }

    /// The coded picture that every HEIC file of these tests has.
    private func codedPicture(of name: String) throws -> String {
        let fixture = try Data(contentsOf: URL(filePath: Repository.path("Tests/MediaWorkerTests/Fixtures/heic.heic")))
        guard let start = fixture.range(of: Data("mdat".utf8)) else { return "no picture" }
        // EXIF follows the picture.
        let picture = fixture[start.upperBound...].prefix(354)
        return try bytes(name).range(of: picture) == nil ? "\(name) has another picture" : "same"
    }

    /// Runs a program.
    ///
    /// - Returns: Its standard output.
    func run(_ program: String, _ arguments: [String]) async throws -> String {
        let run = try await Program.run(program, arguments, environment: [:], directory: media.directory.path)
        guard run.ending == .exited(0) else {
            throw MediaFiles.Trouble(description: "\(arguments): \(run.standardError) \(run.standardOutput)")
        }
        return run.standardOutput
    }

    /// Replaces bytes everywhere in a file by as many others.
    func replace(_ old: String, by new: String, in name: String) throws {
        try replace(Data(old.utf8), by: Data(new.utf8), in: name)
    }

    func replace(_ old: Data, by new: Data, in name: String) throws {
        var data = try bytes(name)
        while let range = data.range(of: old) { data.replaceSubrange(range, with: new) }
        try data.write(to: URL(filePath: path(name)))
    }
}

/// A remover with a directory of its own.
struct RemoverStage {
    let directory: TemporaryDirectory
    let remover: LocationRemover

    init(program: String? = LocationFiles.exiftool) throws {
        directory = try TemporaryDirectory()
        remover = LocationRemover(program: program, directory: directory.path("exiftool"))
    }

    /// Performs the step; the reason if it refuses the file.
    func refusal(of path: String) async throws -> String? {
        do {
            _ = try await StepRun(remover, on: path)
            return nil
        } catch ProductFailure.refused(let reason) {
            return reason
        }
    }
}
