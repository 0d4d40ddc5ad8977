/// The names of the tags that exiftool reads in a picture.
struct TagReport {
    /// A tag with its specific group, such as `ExifIFD` (man 1 exiftool, -G1).
    struct Tag: Hashable, Comparable {
        var group: String
        var name: String

        static func < (one: Tag, other: Tag) -> Bool { (one.group, one.name) < (other.group, other.name) }
    }

    private var tags: Set<Tag> = []

    /// What describes the file and its format, or follows from other tags.
    private static let groupsOfFormats: Set = [
        "ExifTool", "System", "File", "Composite", "JFIF", "Adobe", "QuickTime", "Meta", "PNG", "PNG-pHYs", "PNG-cICP",
    ]
    /// What no longer fits other pixels, or says where something is in the file.
    private static let derived: Set = [
        "SubjectArea", "SubjectLocation", "ThumbnailOffset", "ThumbnailLength",
        // How a TIFF file stores its pixels.
        "SubfileType", "OldSubfileType", "ImageWidth", "ImageHeight", "BitsPerSample", "Compression",
        "PhotometricInterpretation", "FillOrder", "StripOffsets", "SamplesPerPixel", "RowsPerStrip", "StripByteCounts",
        "PlanarConfiguration", "PageNumber", "Predictor", "ColorMap", "TileWidth", "TileLength", "TileOffsets",
        "TileByteCounts", "SampleFormat", "JPEGTables", "YCbCrCoefficients", "YCbCrSubSampling", "YCbCrPositioning",
        "ReferenceBlackWhite",
    ]

    /// The arguments for a file.
    static func arguments(for file: String) -> [String] { ["-a", "-u", "-n", "-s", "-t", "-G1", file] }

    /// Adds a line of exiftool's output: group, name and value, with tabs between.
    mutating func add(_ line: ArraySlice<UInt8>) {
        let fields = line.split(separator: UInt8(ascii: "\t"), maxSplits: 2, omittingEmptySubsequences: false)
        guard fields.count == 3 else { return }
        let (group, name) = (String(decoding: fields[0], as: UTF8.self), String(decoding: fields[1], as: UTF8.self))
        if Self.groupsOfFormats.contains(group) || group.hasPrefix("ICC") || Self.derived.contains(name) { return }
        tags.insert(Tag(group: group, name: name))
    }

    /// Returns a tag that another picture lacks; nil if it has all.
    ///
    /// - Parameter keepsThumbnail: Whether the thumbnail (IFD1) counts.
    func lost(in other: TagReport, keepsThumbnail: Bool) -> Tag? {
        tags.subtracting(other.tags).filter { keepsThumbnail || $0.group != "IFD1" }.min()
    }
}
