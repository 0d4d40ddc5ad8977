/// Hand-made file headers, one or more for each line of the table.
enum MediaSamples {
    static let all = sound + odd

    /// Headers of correct files.
    static let sound: [(name: String, mime: String, fileExtension: String, bytes: [UInt8])] = [
        ("JFIF", "image/jpeg", "jpg", [0xFF, 0xD8, 0xFF, 0xE0, 0, 16] + ascii("JFIF\0")),
        ("Exif JPEG", "image/jpeg", "jpg", [0xFF, 0xD8, 0xFF, 0xE1, 0x20, 0] + ascii("Exif\0\0")),
        ("JPEG without a header", "image/jpeg", "jpg", [0xFF, 0xD8, 0xFF, 0xDB, 0, 0x43]),
        ("PNG", "image/png", "png", [0x89] + ascii("PNG\r\n\u{1A}\n") + big(13) + ascii("IHDR")),
        ("GIF 87a", "image/gif", "gif", ascii("GIF87a") + [1, 0, 1, 0, 0x80, 0, 0]),
        ("GIF 89a", "image/gif", "gif", ascii("GIF89a") + [0x40, 1, 0xF0, 0, 0xF7, 0, 0]),
        ("WebP", "image/webp", "webp", ascii("RIFF") + little(99) + ascii("WEBPVP8 ")),
        ("WebP extended", "image/webp", "webp", ascii("RIFF") + little(99) + ascii("WEBPVP8X")),
        ("JPEG XL container", "image/jxl", "jxl", big(12) + ascii("JXL \r\n") + [0x87, 0x0A]),
        ("JPEG XL codestream", "image/jxl", "jxl", [0xFF, 0x0A, 0xFA, 0x1F, 0xD9, 0x91, 0x08, 0x08, 0x10]),
        ("small JPEG XL", "image/jxl", "jxl", [0xFF, 0x0A, 0x41, 0x00, 0x13]),
        ("BMP", "image/bmp", "bmp", bitmap(header: 40)),
        ("BMP version 5", "image/bmp", "bmp", bitmap(header: 124)),
        ("OS/2 BMP", "image/bmp", "bmp", bitmap(header: 12)),
        ("RAF", "image/x-fuji-raf", "raf", ascii("FUJIFILMCCD-RAW 0201FF383501X-T3")),
        ("ORF", "image/x-olympus-orf", "orf", ascii("IIRO") + little(8)),
        ("ORF, other cameras", "image/x-olympus-orf", "orf", ascii("IIRS") + little(8)),
        ("ORF, big endian", "image/x-olympus-orf", "orf", ascii("MMOR") + big(8)),
        ("RW2", "image/x-panasonic-rw2", "rw2", ascii("IIU\0") + little(24) + zeros(16)),
        ("CR2", "image/x-canon-cr2", "cr2", ascii("II*\0") + little(16) + ascii("CR") + [2, 0] + zeros(8)),
        ("DNG", "image/x-adobe-dng", "dng", tiff(make: "NIKON CORPORATION", tags: [0x14A, 0xC612])),
        ("DNG, big endian", "image/x-adobe-dng", "dng", tiff(make: "Pixel", tags: [0xC612], isBig: true)),
        ("NEF", "image/x-nikon-nef", "nef", tiff(make: "NIKON CORPORATION", tags: [0x14A], isBig: true)),
        ("ARW", "image/x-sony-arw", "arw", tiff(make: "SONY", tags: [0xC634])),
        ("TIFF", "image/tiff", "tif", tiff(make: "Canon", tags: [0x11A])),
        ("TIFF from a Nikon", "image/tiff", "tif", tiff(make: "NIKON CORPORATION", tags: [0x11A])),
        ("TIFF, directory at the end", "image/tiff", "tif", ascii("MM\0*") + big(1_000_000) + zeros(32)),
        ("BigTIFF", "image/tiff", "tif", ascii("II+\0") + [8, 0, 0, 0] + little(16) + little(0)),
        ("AVIF", "image/avif", "avif", brands("avif", "mif1", "miaf")),
        ("AVIF sequence", "image/avif", "avif", brands("avis", "msf1")),
        ("AVIF that says mif1", "image/avif", "avif", brands("mif1", "miaf", "avif")),
        ("HEIC", "image/heic", "heic", brands("heic", "mif1", "heic")),
        ("HEIC that says mif1", "image/heic", "heic", brands("mif1", "miaf", "heic")),
        ("HEIC sequence", "image/heic-sequence", "heics", brands("hevc", "msf1")),
        ("HEIF", "image/heif", "heif", brands("mif1", "miaf")),
        ("CR3", "image/x-canon-cr3", "cr3", brands("crx ", "isom")),
        ("MOV", "video/quicktime", "mov", brands("qt  ")),
        ("M4V", "video/x-m4v", "m4v", brands("M4V ", "isom", "mp42")),
        ("3GP", "video/3gpp", "3gp", brands("3gp5", "isom")),
        ("3G2", "video/3gpp2", "3g2", brands("3g2a")),
        ("MP4", "video/mp4", "mp4", brands("isom", "iso2", "avc1", "mp41")),
        ("MP4 of an unknown major brand", "video/mp4", "mp4", brands("zzzz", "yyyy", "mp42")),
        ("QuickTime, moov first", "video/quicktime", "mov", box("moov", 4000) + box("mvhd", 108) + zeros(100)),
        ("QuickTime, mdat first", "video/quicktime", "mov", box("mdat", 0x7465_7801) + zeros(8)),
        ("QuickTime, wide first", "video/quicktime", "mov", box("wide", 8) + box("mdat", 0) + zeros(8)),
        ("QuickTime, free first", "video/quicktime", "mov", box("free", 16) + zeros(8) + box("mdat", 1)),
        ("QuickTime, much free first", "video/quicktime", "mov", box("free", 65536) + zeros(8)),
        ("WebM", "video/webm", "webm", ebml("webm")),
        ("MKV", "video/x-matroska", "mkv", ebml("matroska")),
        ("AVI", "video/x-msvideo", "avi", ascii("RIFF") + little(1 << 24) + ascii("AVI LIST")),
        ("FLV", "video/x-flv", "flv", ascii("FLV") + [1, 5] + big(9) + big(0)),
        ("MPEG-TS", "video/mp2t", "ts", packets(apart: 188, from: 0, count: 8)),
        ("M2TS", "video/mp2t", "ts", packets(apart: 192, from: 4, count: 8)),
        ("MPEG-2 PS", "video/mpeg", "mpg", pack + [0xF9, 0xFF, 0, 0, 1, 0xBB]),
        ("MPEG-1 PS", "video/mpeg", "mpg", [0, 0, 1, 0xBA, 0x21, 0, 1, 0, 1, 0x80, 0, 1, 0, 0, 1, 0xBB]),
    ]

    /// Files with a signature but nothing valid behind it. The agent accepts them, since they may be a user's
    /// pictures.
    static let odd: [(name: String, mime: String, fileExtension: String, bytes: [UInt8])] = [
        ("JPEG that ends at once", "image/jpeg", "jpg", [0xFF, 0xD8, 0xFF]),
        ("JPEG whose marker makes no sense", "image/jpeg", "jpg", [0xFF, 0xD8, 0xFF, 0xD9]),
        ("JPEG that goes on as a text", "image/jpeg", "jpg", [0xFF, 0xD8, 0xFF] + ascii("words")),
        ("GIF that ends at once", "image/gif", "gif", ascii("GIF87a")),
        ("text that begins with GIF89a", "image/gif", "gif", ascii("GIF89a is the name of a picture format.")),
        ("WebP of an unknown chunk", "image/webp", "webp", ascii("RIFF") + little(99) + ascii("WEBPabcd")),
        ("text that begins with IIRO", "image/x-olympus-orf", "orf", ascii("IIRO is a club of pupils.")),
        ("ORF that ends at once", "image/x-olympus-orf", "orf", ascii("MMOR")),
        ("RW2 without a directory", "image/x-panasonic-rw2", "rw2", ascii("IIU\0") + little(0)),
        ("TIFF that ends at once", "image/tiff", "tif", ascii("II*\0")),
        ("TIFF whose directory is empty", "image/tiff", "tif", ascii("II*\0") + little(8) + zeros(8)),
        ("TIFF without a directory", "image/tiff", "tif", ascii("MM\0*") + zeros(32)),
        ("TIFF whose directory lies in the header", "image/tiff", "tif", ascii("MM\0*") + big(3) + zeros(32)),
        ("TIFF that goes on as a text", "image/tiff", "tif", ascii("II*\0 and many more words after that")),
        ("CR2 without a directory", "image/x-canon-cr2", "cr2", ascii("II*\0") + little(0) + ascii("CR") + [2, 0]),
        ("BigTIFF of odd offsets", "image/tiff", "tif", ascii("MM\0+") + [0xFF, 0xFF] + zeros(8)),
        ("MP4 of a mad size", "video/mp4", "mp4", big(0x7FFF_FFFF) + ascii("ftypisom")),
        ("HEIC of no size", "image/heic", "heic", big(0) + ascii("ftypheic")),
        ("QuickTime, moov without a child", "video/quicktime", "mov", box("moov", 4000) + box("zzzz", 108)),
        ("QuickTime, long moov", "video/quicktime", "mov", box("moov", 1 << 25) + box("mvhd", 108)),
        ("QuickTime, skip first", "video/quicktime", "mov", box("skip", 512) + ascii("some words")),
        ("QuickTime, pnot first", "video/quicktime", "mov", box("pnot", 20) + ascii("some words that go on")),
        ("EBML of another type", "video/x-matroska", "mkv", ebml("other")),
        ("EBML type that goes on", "video/x-matroska", "mkv", ebml("webmaster")),
        ("EBML without a type", "video/x-matroska", "mkv", [0x1A, 0x45, 0xDF, 0xA3, 0x80] + ascii("webm")),
        ("EBML that ends at once", "video/x-matroska", "mkv", [0x1A, 0x45, 0xDF, 0xA3]),
        ("AVI of an unknown chunk", "video/x-msvideo", "avi", ascii("RIFF") + little(99) + ascii("AVI words")),
        ("FLV with reserved flags", "video/x-flv", "flv", ascii("FLV") + [1, 0xFF] + big(9)),
        ("FLV that goes on as a text", "video/x-flv", "flv", ascii("FLV") + [1] + ascii("words")),
        ("MPEG-TS that breaks off", "video/mp2t", "ts", packets(apart: 188, from: 0, count: 3) + ascii("words")),
        ("M2TS that breaks off", "video/mp2t", "ts", packets(apart: 192, from: 4, count: 3) + ascii("words")),
        (
            "MPEG-TS with a sync byte lost", "video/mp2t", "ts",
            broken(packets(apart: 188, from: 0, count: 8), at: 188 * 3)
        ),
        (
            "MPEG-TS with a broken header", "video/mp2t", "ts",
            broken(packets(apart: 188, from: 0, count: 8), at: 188 + 3)
        ),
        ("program stream without marker bits", "video/mpeg", "mpg", broken(pack, at: 6) + [0xF8, 0, 0, 1, 0xBB]),
        ("program stream that goes nowhere", "video/mpeg", "mpg", pack + [0xF8, 0, 0, 0, 0]),
        ("program stream that goes on as a text", "video/mpeg", "mpg", [0, 0, 1, 0xBA] + ascii("words")),
    ]

    /// Files that begin almost like a line of the table, or like none, and must be refused.
    static let foreign: [(name: String, bytes: [UInt8])] = [
        ("nothing", []),
        ("a text", ascii("Birds migrate: see BM, GIF and RIFF.\n")),
        ("a text that begins with BM", ascii("BM is the abbreviation of bench mark, and of much else besides.")),
        ("a text that begins with GIF", ascii("GIF is the name of a picture format, GIF89a one of its versions.")),
        ("a text that begins with RIFF", ascii("RIFF is the container of WEBP and AVI files.")),
        ("a text with a box name", ascii("carefree and carefree and carefree")),
        ("a text that reads like mdat", ascii("the mdat box holds what is to be played")),
        ("a text that begins with FLV", ascii("FLV files are old.")),
        ("a text with the name of a box that may be skipped", ascii("I'd skip this and that")),
        ("a text with TIFF's letters", ascii("II*MM")),
        ("a text that begins with II*", ascii("II* is what a TIFF file begins with.")),
        ("a skip box of a mad size", box("skip", 1 << 24) + zeros(64)),
        ("a pnot box smaller than its header", box("pnot", 7) + zeros(64)),
        ("letters G", Array(repeating: 0x47, count: 4096)),
        (
            "lines of 188 that begin with G",
            (0..<21).flatMap { _ in ascii("G017") + Array(repeating: 0x30, count: 184) }
        ),
        ("HTML", ascii("<!DOCTYPE html><html><head><title>ftyp moov</title></head></html>")),
        ("SVG", ascii("<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\"/>")),
        ("PDF", ascii("%PDF-1.7\n%") + [0xE2, 0xE3, 0xCF, 0xD3]),
        ("ZIP", ascii("PK") + [3, 4, 20, 0, 0, 0, 8, 0] + zeros(64)),
        ("ELF", [0x7F] + ascii("ELF") + [2, 1, 1] + zeros(64)),
        ("MP3 with ID3", ascii("ID3") + [4, 0, 0, 0, 0, 0x1F, 0x76] + ascii("TIT2")),
        ("MP3", [0xFF, 0xFB, 0x90, 0x64] + zeros(413)),
        ("AAC", [0xFF, 0xF1, 0x50, 0x80, 0x02, 0x1F, 0xFC]),
        ("WAV", ascii("RIFF") + little(36) + ascii("WAVEfmt ")),
        ("gzip", [0x1F, 0x8B, 8, 0] + zeros(16)),
        ("M4A", brands("M4A ", "mp42", "isom")),
        ("JPEG 2000", big(12) + ascii("jP  \r\n") + [0x87, 0x0A] + brands("jp2 ")),
        ("unknown brands", brands("zzzz", "yyyy")),
        ("unknown brands in a box of a mad size", big(0x7FFF_FFFF) + ascii("ftypzzzz") + big(0) + ascii("isom")),
        ("half of JPEG's signature", [0xFF, 0xD8, 0xFE]),
        ("PNG damaged by a text transfer", [0x89] + ascii("PNG\n\u{1A}\n") + zeros(8)),
        ("JPEG XL of 2^30 pixels across", [0xFF, 0x0A, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
        ("BMP with two planes", bitmap(header: 40, planes: 2)),
        ("BMP with an unknown header", bitmap(header: 41)),
        ("TIFF of mixed byte order", ascii("II\0*") + little(8) + zeros(8)),
        ("half of EBML's signature", [0x1A, 0x45, 0xDF, 0]),
        ("transport packets, an early sync byte lost", broken(packets(apart: 188, from: 0, count: 8), at: 188 * 2)),
        ("one transport packet", packets(apart: 188, from: 0, count: 1)),
        ("two transport packets", packets(apart: 188, from: 0, count: 2)),
        ("one transport packet and zeros", packets(apart: 188, from: 0, count: 1) + zeros(4096)),
        ("start code of another stream", [0, 0, 1, 0xB3] + zeros(64)),
        ("FLV of another version", ascii("FLV") + [2, 5] + big(9)),
        ("long moov without a child", box("moov", 1 << 25) + box("zzzz", 108)),
        ("zeros", zeros(4096)),
    ]

    private static let pack: [UInt8] = [0, 0, 1, 0xBA, 0x44, 0, 4, 0, 4, 1, 0x01, 0x89, 0xC3]
    private static func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }
    private static func zeros(_ count: Int) -> [UInt8] { Array(repeating: 0, count: count) }
    private static func big(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
    private static func little(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }
    private static func box(_ code: String, _ size: UInt32) -> [UInt8] { big(size) + ascii(code) }

    private static func broken(_ bytes: [UInt8], at offset: Int) -> [UInt8] {
        var bytes = bytes
        bytes[offset] = 0
        return bytes
    }

    private static func brands(_ major: String, _ compatible: String...) -> [UInt8] {
        box("ftyp", UInt32(16 + 4 * compatible.count)) + ascii(major) + big(0) + compatible.flatMap(ascii)
    }

    private static func ebml(_ type: String) -> [UInt8] {
        let content = [0x42, 0x86, 0x81, 1, 0x42, 0x82, 0x80 | UInt8(type.utf8.count)] + ascii(type)
        return [0x1A, 0x45, 0xDF, 0xA3, 0x80 | UInt8(content.count)] + content
    }

    private static func bitmap(header: UInt32, planes: UInt8 = 1) -> [UInt8] {
        let size: [UInt8] = header == 12 ? [8, 0, 8, 0] : little(8) + little(8)
        return ascii("BM") + little(9000) + little(0) + little(14 + header) + little(header) + size + [
            planes, 0, 24, 0,
        ]
    }

    private static func packets(apart: Int, from start: Int, count: Int) -> [UInt8] {
        let packet = zeros(start) + [0x47, 0x40, 0x00, 0x10] + Array(repeating: 0xFF, count: apart - start - 4)
        return (0..<count).flatMap { _ in packet }
    }

    private static func tiff(make: String, tags: [UInt16], isBig: Bool = false) -> [UInt8] {
        func long(_ value: Int) -> [UInt8] { isBig ? big(UInt32(value)) : little(UInt32(value)) }
        func short(_ value: Int) -> [UInt8] { isBig ? Array(long(value)[2...]) : Array(long(value)[..<2]) }
        let makeOffset = 10 + 12 * (tags.count + 1) + 4
        var bytes = ascii(isBig ? "MM" : "II") + short(42) + long(8) + short(tags.count + 1)
        bytes += short(0x10F) + short(2) + long(make.utf8.count + 1) + long(makeOffset)
        for tag in tags { bytes += short(Int(tag)) + short(1) + long(4) + long(1) }
        return bytes + long(0) + ascii(make) + [0]
    }
}
