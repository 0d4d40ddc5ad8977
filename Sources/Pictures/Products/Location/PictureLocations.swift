import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// Removes the positions of one picture. exiftool works on a copy, with a name that tells nothing.
struct PictureLocations {
    let input: ProductInput
    let output: SharedDescriptor
    let removal: Recipe.Removal
    let session: ExifToolSession
    /// Where the copies are.
    let directory: String
    let cancellation: Cancellation

    /// Larger pictures are refused; a camera's raw file has 200 MB at most.
    private static let mostBytes: UInt64 = 2 << 30

    private static let longestProfile = 16 << 20

    /// The types from which exiftool can remove all metadata.
    private static let rebuilt: Set = [
        "image/jpeg", "image/png", "image/gif", "image/webp", "image/jxl", "image/bmp", "image/tiff", "image/heic",
        "image/heif", "image/heic-sequence", "image/avif",
    ]

    func remove() throws(ProductFailure) -> StepOutcome {
        guard input.size <= Self.mostBytes else { throw .refused("pictures over 2 GiB are not searched") }
        if removal != .positions, !Self.rebuilt.contains(input.type.mime) {
            throw .refused("camera raw files hold metadata that they can't do without")
        }
        let original = try create("picture.\(MediaSignatures.fileExtension(for: input.type))")
        try FileCopy.copy(input.file, count: input.size, to: original.file, cancellation)
        let hadForeignParts = try clearForeignParts(original)
        var report = try read(original.path)
        let isTagged = !report.tags.isEmpty || report.positionTrouble != nil
        var current = original
        if isTagged { (current, report) = try cleaned(original, report) }
        var isPatched = try patch(current)
        // exiftool has written the picture anew.
        if isTagged, try clearForeignParts(current, removing: report.unknownTags) { isPatched = true }
        try checkEXIF(current)
        if !isPatched, !isTagged, !hadForeignParts { return .unchanged }
        if isPatched { report = try read(current.path) }
        if let tag = report.tags.first { throw .refused("exiftool could not remove \(tag.group):\(tag.name)") }
        if let trouble = report.positionTrouble { throw .refused("exiftool could not read the picture: \(trouble)") }
        try FileCopy.copy(current.file, count: try size(of: current), to: output, cancellation)
        return .made(input.type)
    }

    private struct Copy {
        var path: String
        var file: SharedDescriptor
    }

    private func create(_ name: String) throws(ProductFailure) -> Copy {
        try open("\(directory)/\(name)", O_RDWR | O_CREAT | O_EXCL)
    }

    private func open(_ path: String, _ flags: Int32) throws(ProductFailure) -> Copy {
        do throws(Errno) {
            return Copy(path: path, file: try SharedDescriptor(opening: path, flags: flags | O_NOFOLLOW, mode: 0o600))
        } catch {
            throw FileCopy.failure(error)
        }
    }

    private func size(of copy: Copy) throws(ProductFailure) -> UInt64 {
        do throws(Errno) { return try FileStatus(of: copy.file.rawValue).size } catch { throw FileCopy.failure(error) }
    }

    private var freeBytes: UInt64 {
        var state = statvfs()
        return statvfs(directory, &state) == 0 ? UInt64(state.f_bavail) * UInt64(state.f_frsize) : .max
    }

    /// Seconds for one command: enough for a slow disk, and little for a crafted file, which holds up all others at its first
    /// attempt.
    private var limit: Int { (input.isSlow ? 20 : 8) + Int(input.size >> 22) }

    private func read(_ path: String) throws(ProductFailure) -> PositionReport {
        var report = PositionReport(removal)
        try session.run(PositionReport.arguments(for: path), within: limit, cancellation) { report.add($0) }
        if let trouble = report.trouble { throw .refused("exiftool could not read the picture: \(trouble)") }
        if report.fileType == nil { throw .refused("exiftool does not know this type of picture") }
        return report
    }

    /// Has exiftool write the copy anew, without positions. First it removes the tags that hold them; if that is not
    /// enough, also what contains them: maker notes, trailers and segments of a camera.
    private func cleaned(
        _ copy: Copy, _ found: PositionReport
    ) throws(ProductFailure) -> (Copy, PositionReport) {
        if case .metadata(let keepsDates) = removal {
            var left = try write(Self.removalOfMetadata(keepsDates: keepsDates), copy.path)
            if left.tags.contains(where: \.isOfColourProfile) { left = try cleanColourProfile(copy.path) }
            // Of a TIFF file exiftool removes the tags of the first page only.
            if !left.tags.isEmpty { left = try write(left.removal, copy.path) }
            return (try open(copy.path, O_RDWR), left)
        }
        var left = try write(found.removal, copy.path)
        if !left.tags.isEmpty { left = try write(left.removal + left.removalOfGroups, copy.path) }
        if !left.unknownTags.isEmpty, Self.rebuilt.contains(input.type.mime), input.type.mime != "image/tiff" {
            left = try write(left.copyOfEXIF, copy.path)
        }
        // A full disk is not the picture's fault.
        if !left.tags.isEmpty, freeBytes < 2 * input.size + (1 << 20) { throw .noSpace }
        return (try open(copy.path, O_RDWR), left)
    }

    /// The arguments that remove the map of a GeoTIFF.
    fileprivate static let geoTIFF = [
        "GeoTiffDirectory", "GeoTiffDoubleParams", "GeoTiffAsciiParams", "ModelTiePoint", "ModelTransform",
        "PixelScale",
    ].map { "-\($0)=" }

    /// Removes all tags, and writes those anew that are needed to show the picture. Colour profiles stay.
    private static func removalOfMetadata(keepsDates: Bool) -> [String] {
        let dates = ["DateTimeOriginal", "OffsetTimeOriginal", "SubSecTimeOriginal"]
        return ["-all=", "--ICC_Profile:all", "-CommonIFD0="] + geoTIFF + ["-tagsFromFile", "@"]
            + (["Orientation", "ColorSpace", "InteropIndex", "Gamma"] + (keepsDates ? dates : [])).map { "-EXIF:\($0)" }
    }

    /// Has exiftool write the colour profile out, and the same without private tags in.
    private func cleanColourProfile(_ path: String) throws(ProductFailure) -> PositionReport {
        try session.run(["-q", "-q", "-b", "-ICC_Profile", "-w!", "icc", path], within: limit, cancellation)
        // exiftool finds none that can be written if it is that of a further page.
        guard access("\(directory)/picture.icc", R_OK) == 0 else { throw .refused("the colour profile can't be read") }
        let profile = try open("\(directory)/picture.icc", O_RDWR)
        let part = try part(profile)
        guard part.range.count <= Self.longestProfile, let bytes = try part.bytes(at: 0, count: part.range.count) else {
            throw .refused("the colour profile is too large")
        }
        try Patch.bytes(ColourProfile.bare(bytes), at: 0).apply(to: profile.file, cancellation)
        return try write(["-ICC_Profile<=\(profile.path)"], path)
    }

    /// exiftool can't write WebP under another name (-o), so it replaces the copy.
    private func write(_ arguments: [String], _ path: String) throws(ProductFailure) -> PositionReport {
        try session.run(["-m", "-q", "-q", "-overwrite_original"] + arguments + [path], within: limit, cancellation)
        return try read(path)
    }

    /// Overwrites what nobody can read.
    ///
    /// - Parameter tags: Tags of TIFF that go as well.
    /// - Returns: Whether there was anything.
    private func clearForeignParts(_ copy: Copy, removing tags: Set<UInt64> = []) throws(ProductFailure) -> Bool {
        try cancellation.limit(to: limit) { () throws(ProductFailure) in try clearParts(of: copy, tags) }
    }

    private func part(_ copy: Copy) throws(ProductFailure) -> FilePart {
        FilePart(file: copy.file, range: 0..<(try size(of: copy)), cancellation: cancellation)
    }

    private func clearParts(of copy: Copy, _ tags: Set<UInt64>) throws(ProductFailure) -> Bool {
        let part = try part(copy)
        let found = try parts(of: part, removing: tags).patches
        if found.isEmpty { return false }
        try found.apply(to: copy.file, cancellation)
        guard try parts(of: part, removing: tags).patches.isEmpty else {
            throw .refused("the picture has parts within parts that can't be read")
        }
        return true
    }

    private func parts(of part: FilePart, removing tags: Set<UInt64> = []) throws(ProductFailure) -> PictureParts {
        let isBare = removal != .positions
        let videos = isBare ? [] : try EmbeddedVideos.find(in: part, cancellation).map(\.range)
        return try PictureParts(
            in: part, type: input.type.mime, videos: videos, removing: tags, isBare: isBare, cancellation)
    }

    /// Refuses a picture with EXIF that can't be read to the end: exiftool skips a damaged directory, which other programs
    /// read.
    private func checkEXIF(_ copy: Copy) throws(ProductFailure) {
        let part = try part(copy)
        let encoded = try cancellation.limit(to: limit) { () throws(ProductFailure) in
            guard Self.rebuilt.contains(input.type.mime) else {
                try PictureParts.requireNoPositions(inRaw: part)
                return 0
            }
            let parts = try parts(of: part)
            try parts.requireNoPositions()
            return parts.encodedEXIF + (parts.encodedEXIF > 0 ? parts.exif.count : 0)
        }
        if encoded > 1 { throw .refused("the picture has several blocks of EXIF data") }
        if encoded == 1 { try checkEncodedEXIF(copy.path) }
    }

    /// Has exiftool write out the EXIF data that a text of PNG holds. It writes none if the text holds XMP.
    private func checkEncodedEXIF(_ path: String) throws(ProductFailure) {
        try session.run(["-q", "-q", "-b", "-EXIF", "-w!", "exif", path], within: limit, cancellation)
        guard access("\(directory)/picture.exif", R_OK) == 0 else { return }
        let block = try part(open("\(directory)/picture.exif", O_RDONLY))
        let start = try block.structureOfEXIF(in: block.range)
        if try !ExifDirectories(in: block.within(start)).positions.isEmpty {
            throw PictureParts.position
        }
    }

    /// Overwrites what exiftool left: positions of previews and of videos within the picture.
    ///
    /// - Returns: Whether there were any.
    private func patch(_ copy: Copy) throws(ProductFailure) -> Bool {
        let part = try part(copy)
        let (isPatched, videos) = try cancellation.limit(to: limit) { () throws(ProductFailure) in
            var isPatched = try HiddenPositions.remove(from: part, cancellation)
            let videos = try EmbeddedVideos.find(in: part, cancellation)
            for video in videos {
                let positions = try BoxPositions(in: video, cancellation)
                if let obstacle = positions.obstacle { throw ProductFailure.refused(obstacle) }
                try positions.patches.apply(to: copy.file, cancellation)
                isPatched = isPatched || !positions.patches.isEmpty
            }
            return (isPatched, videos)
        }
        for video in videos { try check(video) }
        return isPatched
    }

    /// Reads a video within the picture.
    private func check(_ video: FilePart) throws(ProductFailure) {
        let copy = try create("video.mp4")
        try FileCopy.copy(
            video.file, from: video.range.lowerBound, count: UInt64(video.range.count), to: copy.file, cancellation)
        let left = try read(copy.path)
        if unlink(copy.path) != 0 { throw .failed("cannot remove \(copy.path)") }
        if let trouble = left.positionTrouble { throw .refused("exiftool could not read the video: \(trouble)") }
        if let tag = left.tags.first {
            throw .refused("the video in the picture has a position that can't be removed: \(tag.group):\(tag.name)")
        }
    }
}

extension PositionReport {
    /// The arguments that remove the tags (man 1 exiftool, writing).
    var removal: [String] {
        var arguments = ["-gps:all="]
        for tag in tags where tag.family != "Composite" {
            arguments.append("-\(tag.group):\(tag.name)=")
        }
        if tags.contains(where: { $0.group == "GeoTiff" || $0.name.hasPrefix("GeoTiff") }) {
            arguments += PictureLocations.geoTIFF
        }
        return arguments
    }

    /// The arguments that write EXIF anew with the tags that exiftool knows, and without maker notes of an unknown kind.
    var copyOfEXIF: [String] {
        ["-EXIF:all=", "-tagsFromFile", "@", "-EXIF:all", "-unsafe"]
            + (tags.contains { $0.name.hasPrefix("MakerNoteUnknown") } ? ["--MakerNotes"] : [])
    }

    /// The arguments that remove all of what contains the tags, where exiftool can't remove a single one.
    var removalOfGroups: [String] {
        let families = Set(tags.map(\.family))
        var arguments: [String] = []
        if families.contains("MakerNotes") { arguments.append("-MakerNotes:all=") }
        for group in Set(tags.map(\.group)) where group.hasPrefix("XMP-") { arguments.append("-\(group):all=") }
        for family in families where family.hasPrefix("APP") { arguments.append("-\(family):all=") }
        if families.contains("Photoshop") { arguments.append("-Photoshop:all=") }
        if families.contains("GoPro") { arguments.append("-APP6:all=") }
        if families.contains("Trailer") || families.contains("Insta360") { arguments.append("-Trailer:all=") }
        return arguments
    }
}
