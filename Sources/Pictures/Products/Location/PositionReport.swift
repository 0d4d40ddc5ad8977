import UploadCore

/// What exiftool reads in a file, as far as positions are concerned.
struct PositionReport {
    /// A tag that holds a position, or part of one.
    struct Tag: Hashable {
        /// The general group, such as `EXIF` (man 1 exiftool, -G).
        var family: String
        /// The specific group, such as `GPS` or `Track3`.
        var group: String
        var name: String
    }

    /// The first tags with positions; each once.
    var tags: [Tag] { found + longitudes.filter { latitudes.contains($0.stem) }.map(\.tag) }
    private var found: [Tag] = []
    /// Tags such as `GeoLong`. They are positions only if the file has a tag such as `GeoLat` as well.
    private var longitudes: [(stem: String, tag: Tag)] = []
    private var latitudes: Set<String> = []
    /// The type of the file; nil if exiftool does not know it.
    private(set) var fileType: String?
    /// Why exiftool could not read the file, or a part of it.
    private(set) var trouble: String?
    /// A warning about GPS data, such as a broken entry, which goes with the data.
    private(set) var positionTrouble: String?

    /// A page of a TIFF file has about four.
    private static let mostTags = 1000
    private let wanted: Recipe.Removal

    /// - Parameter removal: What counts as a tag with a position: with `metadata`, every tag that is not needed to show the
    ///   picture.
    init(_ removal: Recipe.Removal = .positions) { wanted = removal }

    /// The arguments for a file. `-ee3` also reads embedded files, timed tracks, and the pictures of a video stream.
    static func arguments(for file: String) -> [String] {
        [
            "-a", "-u", "-n", "-s", "-t", "-G0:1", "-ee3", "-api", "LargeFileSupport=1", "-api", "ExtendedXMP=2", file,
        ]
    }

    /// Adds a line of exiftool's output: group, name and value, with tabs between.
    mutating func add(_ line: ArraySlice<UInt8>) {
        let fields = line.split(separator: UInt8(ascii: "\t"), maxSplits: 2, omittingEmptySubsequences: false)
        guard fields.count == 3 else { return }
        let groups = String(decoding: fields[0], as: UTF8.self).split(separator: ":")
        let tag = Tag(
            family: String(groups.first ?? ""), group: String(groups.last ?? ""),
            name: String(decoding: fields[1], as: UTF8.self))
        switch (tag.family, tag.name) {
        case ("ExifTool", "Error"): trouble = trouble ?? text(fields[2])
        case ("ExifTool", "Warning"):
            let warning = text(fields[2])
            if Self.isGrave(warning) {
                trouble = trouble ?? warning
            } else if warning.lowercased().contains("gps") {
                positionTrouble = positionTrouble ?? warning
            } else if warning.contains("Unrecognized MakerNote") {
                insert(Tag(family: "MakerNotes", group: "MakerNotes", name: "all"))
            }
        // The original of a raw picture, compressed, with all its EXIF.
        case (_, "OriginalRawFileData"), (_, "OriginalRawImage"):
            trouble = trouble ?? "the picture contains its original, which can't be searched"
        case ("File", "FileType"): fileType = fileType ?? text(fields[2])
        case ("ExifTool", _): break
        // Names, times and attributes of the copy.
        case ("File", _) where tag.group == "System": break
        default:
            guard found.count + longitudes.count < Self.mostTags else { return }
            if let stem = tag.stem(before: "long") { longitudes.append((stem, tag)) }
            let isPosition =
                isMetadata(tag) || tag.isPosition || tag.isName && PositionText.isName(fields[2])
                || PositionText.isFound(in: fields[2]) || tag.isForeignPosition(fields[2].prefix(Self.longestValue))
                || tag.isUnread(fields[2].prefix(Self.longestValue), needsMakerNotes: needsMakerNotes)
                || tag.isUnreadPicture(fields[2].prefix(Self.longestValue), in: fileType)
            if isPosition { insert(tag) }
        }
    }

    private mutating func insert(_ tag: Tag) {
        if found.contains(tag) { return }
        found.append(tag)
        if let stem = tag.stem(before: "lat") { latitudes.insert(stem) }
    }

    /// The numbers of the tags that exiftool can't remove.
    var unknownTags: Set<UInt64> { Set(tags.compactMap(\.number)) }

    /// Longer values are no coordinates.
    private static let longestValue = 4096

    /// Files that can be shown without their maker notes. Raw pictures may have their samples there, and claim to be TIFF.
    private static let rendered: Set = ["JPEG", "PNG", "WEBP", "HEIC", "HEIF", "AVIF", "JXL"]

    private var needsMakerNotes: Bool { fileType.map { !Self.rendered.contains($0) } ?? false }

    private func isMetadata(_ tag: Tag) -> Bool {
        guard case .metadata(let keepsDates) = wanted else { return false }
        return !tag.showsPicture && !(keepsDates && tag.isDateOfCapture)
            && !(fileType == "TIFF" && tag.isCodedPicture)
    }

    private func text(_ field: ArraySlice<UInt8>) -> String { String(decoding: field.prefix(200), as: UTF8.self) }

    /// Whether exiftool left something unread that may hold a position. Most warnings tell of small faults.
    private static func isGrave(_ warning: String) -> Bool {
        let words = [
            "install ", "inflat", "compress", "encrypt", "too large", "too many", "memory", "aborted",
            "format error", "can't currently", "not yet supported", "end of processing", "not processing", "skipping",
            "stopped parsing", "raw profile",
        ]
        let warning = warning.lowercased()
        if warning.hasPrefix("[minor]") { return words.contains { warning.contains($0) } }
        // The rest of such a directory is left unread. That of a thumbnail may be outside of the file.
        let isOfDirectory =
            warning.hasPrefix("bad format") && warning.hasSuffix("entry 0")
            || warning.hasPrefix("bad ") && warning.hasSuffix(" directory") && !warning.contains("ifd1")
            || warning.hasPrefix("illegal ") && warning.contains("directory size")
        return isOfDirectory || words.contains { warning.contains($0) }
    }
}

extension PositionReport.Tag {
    /// Where a tag `Location` holds coordinates. In IPTC, XMP and maker notes it is the name of a place.
    private static let familiesOfVideos: Set = ["QuickTime", "Matroska", "RIFF", "Flash", "H264", "M2TS"]
    private static let words = [
        "gps", "latitude", "longitude", "longtitude", "iso6709", "geotag", "geolocation", "geotiff", "geographic",
        "verbatimcoordinates", "absolutealtitude", "ecef",
    ]
    /// Tags of GeoTIFF that place the picture on the map, and those of GDAL and DGIWG: coefficients, GML and XML.
    private static let geoTIFF: Set = [
        "ModelTiePoint", "ModelTransform", "PixelScale", "IntergraphMatrix", "Exif_0xc69c", "Exif_0xc6dd",
        "GDALMetadata",
    ]
    /// Tags of XMP that hold a picture, with metadata of its own.
    private static let pictures: Set = ["ImageData", "ThumbnailImage", "PageImage"]
    /// How a picture of JPEG, PNG, TIFF, GIF or WebP begins in base64.
    private static let encodedPictures = ["/9j/", "iVBORw0KGgo", "SUkqA", "TU0AK", "R0lGOD", "UklGR"]
        .map { Array($0.utf8) }
    private static let shortestEncodedPicture = 200
    /// Groups that PNG holds in compressed or encoded chunks, where no picture within can be searched.
    private static let groupsOfChunks: Set = ["EXIF", "XMP", "IPTC", "Photoshop", "MakerNotes"]
    /// Words in the names of tags that hold a picture.
    private static let wordsOfPictures = ["image", "thumbnail", "preview", "jpgfromraw"]
    /// The version of the format, which says nothing about a place; and light, which has a latitude too.
    private static let harmless: Set = ["GPSVersionID", "ISOSpeedLatitudeyyy", "ISOSpeedLatitudezzz"]

    /// Names of coordinates that are parts of too many words.
    private static let wholeNames: Set = ["latlng", "latlon", "coords", "coordinates"]
    /// The structure of formats, in which ``PictureParts`` leaves no texts; and colours.
    private static let familiesOfStructure: Set = [
        "File", "Composite", "JFIF", "ICC_Profile", "RIFF", "QuickTime", "Jpeg2000", "APP14", "PNG", "GIF",
    ]
    /// Tags of EXIF and TIFF that a viewer needs, and those that EXIF demands.
    private static let picture: Set = [
        "Orientation", "ColorSpace", "PageNumber", "InteropIndex", "InteropVersion", "Gamma", "XResolution",
        "YResolution",
        "ResolutionUnit",
        "YCbCrPositioning", "YCbCrSubSampling", "YCbCrCoefficients", "ReferenceBlackWhite", "ExifVersion",
        "FlashpixVersion", "ComponentsConfiguration", "ExifImageWidth", "ExifImageHeight", "SubfileType",
        "OldSubfileType", "ImageWidth", "ImageHeight", "BitsPerSample", "Compression", "PhotometricInterpretation",
        "Thresholding", "FillOrder", "StripOffsets", "StripByteCounts", "RowsPerStrip", "SamplesPerPixel",
        "PlanarConfiguration", "Predictor", "TileWidth", "TileLength", "TileOffsets", "TileByteCounts", "ColorMap",
        "ExtraSamples", "SampleFormat", "MinSampleValue", "MaxSampleValue", "SMinSampleValue", "SMaxSampleValue",
        "WhitePoint", "PrimaryChromaticities", "TransferFunction", "InkSet", "DotRange", "JPEGTables", "T4Options",
        "T6Options",
    ]

    /// Whether the tag is a whole tag of a colour profile, and no field of one.
    var isOfColourProfile: Bool { family == "ICC_Profile" && group == family }

    /// Whether the tag is needed to show the picture.
    var showsPicture: Bool {
        if family == "EXIF" { return Self.picture.contains(name) }
        if isOfColourProfile { return ColourProfile.isNeeded(name) }
        return Self.familiesOfStructure.contains(family) && name != "Comment"
    }

    /// Whether the tag is the coded picture of a page of TIFF, which exiftool calls a preview or thumbnail.
    var isCodedPicture: Bool {
        family == "EXIF" && group.hasPrefix("IFD")
            && ["PreviewImage", "PreviewImageStart", "PreviewImageLength", "ThumbnailTIFF"].contains(name)
    }

    /// Whether the tag tells when the picture was taken.
    var isDateOfCapture: Bool {
        family == "EXIF" && ["DateTimeOriginal", "OffsetTimeOriginal", "SubSecTimeOriginal"].contains(name)
    }

    /// Whether the value names what another tag holds, as in the XML of Sony's cameras.
    var isName: Bool { ["XML", "QuickTime"].contains(family) && name.hasSuffix("Name") }

    /// Namespaces of XMP for texts that people write, and for the work of editors.
    private static let groupsOfPeople: Set = [
        "XMP-dc", "XMP-photoshop", "XMP-iptcCore", "XMP-iptcExt", "XMP-xmp", "XMP-xmpMM", "XMP-xmpRights", "XMP-crs",
        "XMP-lr", "XMP-pdf", "XMP-plus", "XMP-mwg-rs", "XMP-MP", "XMP-digiKam", "XMP-acdsee", "XMP-tiff", "XMP-aux",
    ]

    /// Whether a program has written coordinates into a namespace of its own: a name such as `Position`, or values with
    /// names, as in JSON.
    func isForeignPosition(_ value: ArraySlice<UInt8>) -> Bool {
        guard family == "XMP", !Self.groupsOfPeople.contains(group) else { return false }
        let lowercased = name.lowercased()
        let isNamed = ["pos", "position", "point", "coordinate", "location", "geo"].contains {
            lowercased.hasSuffix($0)
        }
        let hasNames = String(decoding: value, as: UTF8.self).lowercased().contains("\"lat")
        return (isNamed || hasNames) && TelemetryText(Array(value)).hasPosition
    }

    /// Whether the tag holds a picture, whose own metadata nobody here reads: as text in XMP, or in a chunk of PNG.
    func isUnreadPicture(_ value: ArraySlice<UInt8>, in fileType: String?) -> Bool {
        // The EXIF data of Photoshop's resources, beside those that exiftool reads.
        if name.lowercased() == "exifinfo2" { return true }
        if family == "XMP", value.count >= Self.shortestEncodedPicture,
            Self.encodedPictures.contains(where: { value.starts(with: $0) })
        {
            return true
        }
        guard fileType.map({ ["PNG", "APNG"].contains($0) }) == true, Self.groupsOfChunks.contains(family),
            value.starts(with: "(Binary data".utf8)
        else { return false }
        let lowercased = name.lowercased()
        return Self.wordsOfPictures.contains { lowercased.contains($0) }
    }

    /// Tags of EXIF with values that exiftool does not print: pictures, places of picture data, and colours.
    private static let binary: Set = [
        "ThumbnailImage", "ThumbnailTIFF", "PreviewImage", "JpgFromRaw", "JpgFromRaw2", "OtherImage",
        "HasselbladRawImage", "StripOffsets", "StripByteCounts", "TileOffsets", "TileByteCounts", "JPEGTables",
        "ColorMap",
        "GrayResponseCurve", "TransferFunction", "LinearizationTable", "OpcodeList1", "OpcodeList2", "OpcodeList3",
        "ProfileGainTableMap", "ProfileGainTableMap2", "ProfileHueSatMapData1", "ProfileHueSatMapData2",
        "ProfileHueSatMapData3", "ProfileLookTableData", "ProfileToneCurve", "RGBTables", "NoiseProfile", "ToneCurve",
        "BlackLevelDeltaH", "BlackLevelDeltaV", "ImageStats", "Opto-ElectricConvFactor", "SpatialFrequencyResponse",
        "CFAPattern",
    ]
    /// What exiftool calls the tags from 65000, which Photoshop once used and other programs use for their own.
    private static let privateTags: Set = [
        "OwnerName", "SerialNumber", "Lens", "RawFile", "Converter", "WhiteBalance", "Exposure", "Shadows",
        "Brightness", "Contrast", "Saturation", "Sharpness", "Smoothness", "MoireFilter",
    ]
    private static let unknown = "Exif_0x"
    /// Colours of DNG 1.7: ProfileGainTableMap2, ImageStats, ProfileDynamicRange; and how LERC codes the strips of a TIFF.
    private static let youngTags: Set = ["Exif_0xcd40", "Exif_0xcd46", "Exif_0xcd47", "Exif_0xc5f2"]
    private static let numberOfMakerNotes: UInt64 = 0x927C
    /// Tags with data of any kind, which exiftool can't remove either.
    private static let fixedTags: [String: UInt64] = [
        "DNGPrivateData": 0xC634, "DeviceSettingDescription": 0xA40B, "MSPropertySetStorage": 0x9330,
        "MSDocumentTextPosition": 0x9331, "WangTag1": 0x80A3, "WangAnnotation": 0x80A4, "WangTag3": 0x80A5,
        "WangTag4": 0x80A6,
    ]

    private var isUnknownMakerNote: Bool {
        group == "MakerUnknown" || name.hasPrefix("MakerNoteUnknown") || family == "MakerNotes" && name == "all"
    }

    /// The number of a tag that exiftool can't remove; nil for all others.
    fileprivate var number: UInt64? {
        if isUnknownMakerNote { return Self.numberOfMakerNotes }
        if let number = Self.fixedTags[name] { return number }
        return name.hasPrefix(Self.unknown) ? UInt64(name.dropFirst(Self.unknown.count), radix: 16) : nil
    }

    /// Whether exiftool knows neither the tag nor what is in it. A single whole number is no position. Most maker notes have
    /// unknown tags: these count if they are two coordinates and a height at most.
    func isUnread(_ value: ArraySlice<UInt8>, needsMakerNotes: Bool) -> Bool {
        if isUnknownMakerNote { return true }
        if family == "MakerNotes" {
            let isShort = value.split(separator: UInt8(ascii: " ")).count <= 3
            return !needsMakerNotes && name.contains("_0x") && isShort && TelemetryText(Array(value)).hasPosition
        }
        guard family == "EXIF" else { return false }
        if name.hasPrefix(Self.unknown) {
            return Int(String(decoding: value, as: UTF8.self)) == nil && !Self.youngTags.contains(name)
        }
        if Self.privateTags.contains(name) { return group.hasPrefix("IFD") }
        return value.starts(with: "(Binary data".utf8) && !name.contains("_0x") && !Self.binary.contains(name)
    }

    /// The group, and the name without its last word, if this is it; see ``PositionName/stem(of:before:)``.
    fileprivate func stem(before last: String) -> String? {
        PositionName.stem(of: name, before: last).map { "\(group):\($0)" }
    }

    /// Whether the name says that the tag holds a position.
    var isPosition: Bool {
        if Self.harmless.contains(name) { return false }
        if group == "GPS" || group == "GeoTiff" || group == "XMP-georss" || Self.geoTIFF.contains(name) { return true }
        if family == "XMP", Self.pictures.contains(name) { return true }
        let lowercased = name.lowercased()
        if PositionName.isPlace(name) || Self.wholeNames.contains(lowercased)
            || Self.words.contains(where: { lowercased.contains($0) })
        {
            return true
        }
        return Self.familiesOfVideos.contains(family) && lowercased.contains("location")
    }
}
