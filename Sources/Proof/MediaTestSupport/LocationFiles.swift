package import Foundation
import TestSupport

/// Pictures and videos with positions, made with exiftool and ffmpeg in one directory.
package struct LocationFiles: Sendable {
    package let media: MediaFiles
    private let tags: TagWriter

    package static let exiftool = MediaFiles.program("exiftool")
    package static let exiv2 = MediaFiles.program("exiv2")
    /// Whether the files can be made here.
    package static let canBeMade = exiftool != nil && MediaFiles.ffmpeg != nil
    /// The position in all files, in the spellings of formats: decimal, and degrees and minutes.
    package static let latitude = "48.1375"
    package static let longitude = "11.5755"

    package init() throws {
        media = try MediaFiles()
        guard let exiftool = Self.exiftool else { throw MediaFiles.Trouble(description: "these tests need exiftool") }
        tags = TagWriter(program: exiftool)
    }

    package func path(_ name: String) -> String { media.directory.path(name) }

    package func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(filePath: path(name))) }

    /// Makes a picture or video without positions. Videos have a picture and sound, both coded. All files of one kind
    /// are copies of the first.
    package func base(_ name: String) async throws {
        let kind = name.split(separator: ".").last.map(String.init) ?? ""
        let original = "base.\(kind)"
        if !FileManager.default.fileExists(atPath: path(original)) { try await makeBase(original, kind) }
        try copy(path(original), to: name)
    }

    private func makeBase(_ name: String, _ kind: String) async throws {
        switch kind {
        case "heic":
            try copy(Repository.path("Tests/Programs/MediaWorkerTests/Fixtures/heic.heic"), to: name)
        case "avif":
            try copy(Repository.path("Tests/Programs/MediaWorkerTests/Fixtures/avif.avif"), to: name)
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
        case "raf":
            try await base("raf.jpg")
            _ = try media.write(RawFiles.fuji(preview: try bytes("raf.jpg")), name)
        case "cr3":
            try await base("cr3.mp4")
            try copy(path("cr3.mp4"), to: name)
            try replace("ftypisom", by: "ftypcrx ", in: name)
        default:
            if let raw = RawFiles.plain(kind) {
                _ = try media.write(raw, name)
            } else {
                try await makeVideo(name, kind)
            }
        }
    }

    private func makeVideo(_ name: String, _ kind: String) async throws {
        let codecs = [
            "webm": "-c:v libvpx -c:a libopus", "flv": "-c:v flv1 -c:a aac", "avi": "-c:v mpeg4 -c:a mp3",
        ]
        try await media.make(
            "-f lavfi -i testsrc=size=96x64:rate=10 -f lavfi -i sine=sample_rate=48000 -t 1 -ac 1 "
                + "\(codecs[kind] ?? "-c:v mpeg4 -c:a aac") -metadata title=kept \(name)")
    }

    /// Copies a file, in place of an older one.
    package func copy(_ from: String, to name: String) throws {
        try? FileManager.default.removeItem(atPath: path(name))
        try FileManager.default.copyItem(atPath: from, toPath: path(name))
    }

    /// Has exiftool write tags to a file.
    package func tag(_ name: String, _ tags: [String]) async throws {
        try await self.tags.run(["-q", "-q", "-overwrite_original"] + tags + [path(name)])
    }

    /// Whether a second reader finds a position in a file: exiv2 in pictures, ffprobe in videos.
    ///
    /// - Parameters:
    ///   - path: Absolute path.
    ///   - name: A name whose ending says what kind of file it is.
    package func secondReaderFindsPosition(at path: String, named name: String) async throws -> Bool {
        let words = [
            "gpsinfo.gpsl", "gpsinfo.gpsa", "gpslatitude", "gpslongitude", "tag:location", "iso6709", "latitude",
        ]
        let lines = try await secondReading(of: path, name).lowercased().split(separator: "\n")
        // Its name is all that is left of a key, and says nothing.
        return lines.contains { line in words.contains { line.contains($0) } && line.contains(where: \.isNumber) }
    }

    private func secondReading(of path: String, _ name: String) async throws -> String {
        if Self.isVideo(name) {
            return try await media.probe(path, "format_tags:stream_tags:stream=index").joined(separator: "\n")
        }
        guard let exiv2 = Self.exiv2 else { return "" }
        // exiv2 exits with 1 if there are no metadata, and with more for types that it does not know.
        let arguments = ["-pa", path]
        return try await Program.run(exiv2, arguments, environment: [:], directory: media.directory.path).standardOutput
    }

    private static func isVideo(_ name: String) -> Bool {
        ["mp4", "mov", "m4v", "3gp", "3g2", "mkv", "webm", "avi"].contains { name.hasSuffix($0) }
    }

    /// Returns a spelling of the position that the bytes contain; nil if they contain none.
    package static func position(in bytes: Data) -> String? {
        [latitude, longitude, "4808.25", "01134.53", "48:8:13"].first { bytes.range(of: Data($0.utf8)) != nil }
    }

    /// A digest of the decoded pictures, or of the coded streams of picture and sound.
    package func essence(of name: String) async throws -> String {
        let options = Self.isVideo(name) ? "-map 0:V -map 0:a -c copy -f streamhash" : "-map 0:v -f framemd5"
        // ffmpeg 5 decodes no HEIC; its coded picture is looked for instead.
        if name.hasSuffix("heic") { return try codedPicture(of: name) }
        // ffmpeg knows no raw pictures either.
        if let samples = RawFiles.samples(ofKind: name) {
            return try bytes(name).range(of: samples) == nil ? "\(name) has other samples" : "same"
        }
        try await media.make("-i \(path(name)) \(options) essence")
        return media.directory.text("essence")
    }

    /// Digests of the decoded pictures of a video, without times, which differ between containers.
    package func frames(of name: String) async throws -> [String] {
        try await media.make("-xerror -i \(path(name)) -map 0:V -f framehash -hash md5 frames")
        let lines = media.directory.text("frames").split(separator: "\n").filter { !$0.hasPrefix("#") }
        return lines.map { $0.split(separator: ",").last.map(String.init) ?? "" }
    }

    /// The coded picture that every HEIC file of these tests has.
    private func codedPicture(of name: String) throws -> String {
        let fixture = try Data(
            contentsOf: URL(filePath: Repository.path("Tests/Programs/MediaWorkerTests/Fixtures/heic.heic")))
        guard let start = fixture.range(of: Data("mdat".utf8)) else { return "no picture" }
        // EXIF follows the picture.
        let picture = fixture[start.upperBound...].prefix(354)
        return try bytes(name).range(of: picture) == nil ? "\(name) has another picture" : "same"
    }

    /// Runs a program.
    ///
    /// - Returns: Its standard output.
    package func run(_ program: String, _ arguments: [String]) async throws -> String {
        let run = try await Program.run(program, arguments, environment: [:], directory: media.directory.path)
        guard run.ending == .exited(0) else {
            throw MediaFiles.Trouble(description: "\(arguments): \(run.standardError) \(run.standardOutput)")
        }
        return run.standardOutput
    }

    /// Replaces bytes everywhere in a file by as many others.
    package func replace(_ old: String, by new: String, in name: String) throws {
        try replace(Data(old.utf8), by: Data(new.utf8), in: name)
    }

    package func replace(_ old: Data, by new: Data, in name: String) throws {
        var data = try bytes(name)
        while let range = data.range(of: old) { data.replaceSubrange(range, with: new) }
        try data.write(to: URL(filePath: path(name)))
    }
}
