/// Recognises pictures and videos by their first bytes, whatever their names.
public enum MediaSignatures {
    /// The number of bytes to check from the start of a file. Further bytes are ignored; fewer may suffice.
    public static let prefixLength = 4096

    /// One row of the table.
    struct Signature: Sendable {
        let type: MediaType
        let matches: @Sendable (MediaPrefix) -> Bool

        init(_ kind: MediaType.Kind, _ mime: String, _ matches: @escaping @Sendable (MediaPrefix) -> Bool) {
            type = MediaType(kind: kind, mime: mime)
            self.matches = matches
        }
    }

    /// The first matching row counts, so special formats precede general ones.
    ///
    /// A signature of three bytes or more suffices, whatever follows. Rejecting a damaged or odd picture may lose the
    /// picture, while uploading a text that begins like a picture costs little. After a shorter signature the file must
    /// be plausible.
    static let table: [Signature] = [
        Signature(.image, "image/jpeg") { $0.has([0xFF, 0xD8, 0xFF]) },  // ITU-T T.81, annex B: SOI, then a marker
        Signature(.image, "image/png") { $0.has([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) },  // W3C PNG, 5.2
        Signature(.image, "image/gif") { $0.has("GIF87a") || $0.has("GIF89a") },  // GIF89a specification, 17
        Signature(.image, "image/webp") { $0.has("RIFF") && $0.has("WEBP", at: 8) },  // RFC 9649, 2.4
        Signature(.image, "image/jxl") { $0.has(jpegXLBox) },  // ISO 18181-2, 9.1
        Signature(.image, "image/jxl", JPEGXLCodestream.matches),  // ISO 18181-1, annex D
        Signature(.image, "image/bmp", isBitmap),  // Microsoft: BITMAPFILEHEADER, BITMAPINFOHEADER
        Signature(.image, "image/x-fuji-raf") { $0.has("FUJIFILMCCD-RAW ") },  // ExifTool FujiFilm.pm
        Signature(.image, "image/x-olympus-orf", isOlympusRaw),  // ExifTool Exif.pm: "RO", "RS" for TIFF's 42
        Signature(.image, "image/x-panasonic-rw2") { $0.has("IIU\0") },  // ExifTool PanasonicRaw.pm: 0x55 for TIFF's 42
        Signature(.image, "image/x-canon-cr2") { tiff($0) == .canon },  // ExifTool Canon.pm: "CR", version 2
        Signature(.image, "image/x-adobe-dng") { tiff($0) == .dng },  // DNG 1.7: tag DNGVersion
        Signature(.image, "image/x-nikon-nef") { tiff($0) == .nikon },  // ExifTool Nikon.pm: Make and SubIFDs
        Signature(.image, "image/x-sony-arw") { tiff($0) == .sony },  // ExifTool Sony.pm: Make and SubIFDs
        Signature(.image, "image/tiff") { tiff($0) == .plain },  // TIFF 6.0, section 2; BigTIFF
        Signature(.image, "image/avif") { brand($0) == .avif },  // AV1 Image File Format, 6
        Signature(.image, "image/heic") { brand($0) == .heic },  // ISO 23008-12, B.4.1
        Signature(.image, "image/heic-sequence") { brand($0) == .heicSequence },  // ISO 23008-12, B.4.2
        Signature(.image, "image/heif") { brand($0) == .heif },  // ISO 23008-12, 10.2
        Signature(.image, "image/x-canon-cr3") { brand($0) == .canon },  // ExifTool QuickTime.pm: brand "crx "
        Signature(.video, "video/quicktime") { brand($0) == .quickTime },  // QuickTime File Format: brand "qt  "
        Signature(.video, "video/x-m4v") { brand($0) == .m4v },  // mp4ra.org: M4V, M4VH, M4VP
        Signature(.video, "video/3gpp") { brand($0) == .threeGPP },  // 3GPP TS 26.244, 5.3
        Signature(.video, "video/3gpp2") { brand($0) == .threeGPP2 },  // 3GPP2 C.S0050, 8.1
        Signature(.video, "video/mp4") { brand($0) == .mp4 },  // ISO 14496-12 and -14, mp4ra.org
        Signature(.video, "video/quicktime", BaseMedia.isQuickTimeWithoutBrand),  // QuickTime File Format, before 2001
        Signature(.video, "video/webm", Matroska.isWebM),  // webmproject.org: container
        Signature(.video, "video/x-matroska", Matroska.matches),  // RFC 8794, 11.2.1; RFC 9559
        Signature(.video, "video/x-msvideo") { $0.has("RIFF") && $0.has("AVI ", at: 8) },  // Microsoft: AVI RIFF
        Signature(.video, "video/x-flv") { $0.has([0x46, 0x4C, 0x56, 1]) },  // Adobe FLV 10.1, annex E.2
        Signature(.video, "video/mp2t", TransportStream.matches),  // ISO 13818-1, 2.4.3.2; M2TS: 4 bytes more
        Signature(.video, "video/mpeg") { $0.has([0, 0, 1, 0xBA]) },  // ISO 13818-1, 2.5.3.3; ISO 11172-1, 2.4.3.2
    ]

    /// Returns the type of a file.
    ///
    /// - Parameter prefix: the first bytes, preferably ``prefixLength`` of them, or the whole file.
    /// - Returns: nil unless the file is a known kind of picture or video.
    public static func sniff(_ prefix: UnsafeRawBufferPointer) -> MediaType? {
        let prefix = MediaPrefix(prefix)
        return table.first { $0.matches(prefix) }?.type
    }

    /// Returns the type of a file.
    ///
    /// - Parameter prefix: the first bytes, preferably ``prefixLength`` of them, or the whole file.
    /// - Returns: nil unless the file is a known kind of picture or video.
    public static func sniff(_ prefix: [UInt8]) -> MediaType? {
        prefix.withUnsafeBytes { sniff($0) }
    }

    /// Returns the name of an unsupported picture format, so that error messages don't call such a file "not a
    /// picture".
    ///
    /// - Parameter prefix: the first bytes of a file that ``sniff(_:)-(UnsafeRawBufferPointer)`` does not know.
    /// - Returns: nil for anything else.
    public static func nameOfUnknownPicture(_ prefix: UnsafeRawBufferPointer) -> String? {
        let prefix = MediaPrefix(prefix)
        // ISO 15444-1: annex I.5.1 (the signature box), annex A (SOC, then SIZ).
        if prefix.has(jpeg2000Box) || prefix.has([0xFF, 0x4F, 0xFF, 0x51]) { return "JPEG 2000" }
        return prefix.isSVG ? "SVG" : nil
    }

    private static let jpeg2000Box: [UInt8] = [0, 0, 0, 0x0C, 0x6A, 0x50, 0x20, 0x20, 0x0D, 0x0A, 0x87, 0x0A]

    /// Returns the file extension of a type in protocols: `[a-z0-9]{1,8}`, `bin` if unknown.
    public static func fileExtension(for type: MediaType) -> String {
        extensions[type.mime] ?? "bin"
    }

    private static let extensions: [String: String] = [
        "image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/webp": "webp", "image/jxl": "jxl",
        "image/bmp": "bmp", "image/tiff": "tif", "image/avif": "avif", "image/heic": "heic", "image/heif": "heif",
        "image/heic-sequence": "heics", "image/x-canon-cr2": "cr2", "image/x-canon-cr3": "cr3",
        "image/x-adobe-dng": "dng", "image/x-nikon-nef": "nef", "image/x-sony-arw": "arw",
        "image/x-fuji-raf": "raf", "image/x-olympus-orf": "orf", "image/x-panasonic-rw2": "rw2",
        "video/mp4": "mp4", "video/quicktime": "mov", "video/x-m4v": "m4v", "video/3gpp": "3gp",
        "video/3gpp2": "3g2", "video/webm": "webm", "video/x-matroska": "mkv", "video/x-msvideo": "avi",
        "video/x-flv": "flv", "video/mp2t": "ts", "video/mpeg": "mpg",
    ]

    private static func brand(_ prefix: MediaPrefix) -> BaseMedia.Family? { BaseMedia.family(of: prefix) }
    private static func tiff(_ prefix: MediaPrefix) -> TIFF.Family? { TIFF.family(of: prefix) }

    private static let jpegXLBox: [UInt8] = [0, 0, 0, 0x0C, 0x4A, 0x58, 0x4C, 0x20, 0x0D, 0x0A, 0x87, 0x0A]

    private static func isOlympusRaw(_ prefix: MediaPrefix) -> Bool {
        prefix.has("IIRO") || prefix.has("IIRS") || prefix.has("MMOR")
    }

    /// "BM" alone begins many texts, so the info header must be valid too.
    private static func isBitmap(_ prefix: MediaPrefix) -> Bool {
        guard prefix.has("BM"), prefix.uint32(at: 6, .little) == 0,
            let pixels = prefix.uint32(at: 10, .little), let header = prefix.uint32(at: 14, .little),
            [12, 16, 40, 52, 56, 64, 108, 124].contains(header), pixels >= 14 + header, pixels < 1 << 20
        else { return false }
        let planes = header == 12 ? 22 : 26
        guard prefix.uint16(at: planes, .little) == 1, let depth = prefix.uint16(at: planes + 2, .little) else {
            return false
        }
        return [0, 1, 2, 4, 8, 16, 24, 32, 64].contains(depth)
    }
}
