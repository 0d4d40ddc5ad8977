/// The supported formats, detected by their first bytes alone. Each format has one decoder, and no other decoder ever
/// sees the file.
enum PictureFormat: String, CaseIterable {
    case jpeg, png, gif, webp, heif, avif, tiff

    /// Number of bytes needed for detection.
    static let headLength = 64

    /// Detects the format of a file with these first bytes; nil if unsupported.
    init?(head: some Collection<UInt8>) {
        let head = Array(head.prefix(Self.headLength))
        func holds(_ bytes: [UInt8], at offset: Int = 0) -> Bool { head.dropFirst(offset).starts(with: bytes) }
        func reads(_ text: StaticString, at offset: Int = 0) -> Bool {
            holds(text.withUTF8Buffer { Array($0) }, at: offset)
        }
        // ITU T.81 B.2.1: SOI, then a marker.
        if holds([0xFF, 0xD8, 0xFF]) {
            self = .jpeg
            // PNG specification, 5.2.
        } else if holds([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
            // GIF89a specification, 17.
        } else if reads("GIF87a") || reads("GIF89a") {
            self = .gif
            // RFC 9649, 2.4.
        } else if reads("RIFF") && reads("WEBPVP8", at: 8) {
            self = .webp
            // TIFF 6.0, section 2, and BigTIFF. Canon's raw files have `CR` after the offset.
        } else if [[0x49, 0x49, 0x2A, 0], [0x4D, 0x4D, 0, 0x2A], [0x49, 0x49, 0x2B, 0], [0x4D, 0x4D, 0, 0x2B]]
            .contains(where: { holds($0) }) && !reads("CR", at: 8)
        {
            self = .tiff
        } else if reads("ftyp", at: 4), let format = Self(brandsOf: head) {
            self = format
        } else {
            return nil
        }
    }

    /// ISO/IEC 14496-12, 4.3: the major brand, a version, and compatible brands, four letters each.
    private init?(brandsOf head: [UInt8]) {
        let end = min(head.count, Int(head[2]) << 8 | Int(head[3]))
        let offsets = [8] + Array(stride(from: 16, to: end, by: 4))
        let brands = offsets.map { String(decoding: head.dropFirst($0).prefix(4), as: UTF8.self) }
        // ISO/IEC 23008-12, annex B; AV1 Image File Format, 5. `mif1` alone does not distinguish the two.
        if brands.contains(where: ["avif", "avis"].contains) {
            self = .avif
        } else if ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"].contains(brands[0]) {
            self = .heif
        } else {
            return nil
        }
    }
}
