/// ISO base media files and their predecessor QuickTime. Both consist of boxes: a size, a four-character code and
/// content.
enum BaseMedia {
    /// The kind of file that a brand stands for.
    enum Family {
        case avif
        case heic
        case heicSequence
        case heif
        case canon
        case quickTime
        case m4v
        case threeGPP
        case threeGPP2
        case mp4
        /// A known brand for other kinds of file: audio books, JPEG 2000 and the like.
        case foreign
    }

    /// Returns the family of the first known brand: the major brand first, then the compatible brands.
    ///
    /// `mif1` and `msf1` mean only "some HEIF". For them the compatible brands may be more specific.
    static func family(of prefix: MediaPrefix) -> Family? {
        guard prefix.has("ftyp", at: 4), let size = prefix.uint32(at: 0, .big), let major = prefix.code(at: 8) else {
            return nil
        }
        // If the size is implausible, trust only the major brand.
        let end = (16...4096).contains(size) ? size : 0
        let compatible = stride(from: 16, to: end, by: 4).compactMap { prefix.code(at: $0).flatMap(family(ofBrand:)) }
        switch family(ofBrand: major) {
        case .heif: return compatible.first { [.avif, .heic, .heicSequence].contains($0) } ?? .heif
        case let known?: return known
        case nil: return compatible.first
        }
    }

    private static func family(ofBrand brand: String) -> Family? {
        if let known = brands[brand] { return known }
        // Each prefix covers several releases: 3gp4 … 3gp9, 3gr6, 3gs7, 3ge6; 3g2a … 3g2c.
        if brand.hasPrefix("3g2") { return .threeGPP2 }
        if brand.hasPrefix("3g") { return .threeGPP }
        return nil
    }

    private static let brands: [String: Family] = [
        "avif": .avif, "avis": .avif, "avio": .avif,
        "heic": .heic, "heix": .heic, "heim": .heic, "heis": .heic,
        "hevc": .heicSequence, "hevx": .heicSequence, "hevm": .heicSequence, "hevs": .heicSequence,
        "mif1": .heif, "mif2": .heif, "msf1": .heif,
        "crx ": .canon, "qt  ": .quickTime, "M4V ": .m4v, "M4VH": .m4v, "M4VP": .m4v, "mmp4": .threeGPP,
        "isom": .mp4, "iso2": .mp4, "iso3": .mp4, "iso4": .mp4, "iso5": .mp4, "iso6": .mp4, "iso7": .mp4,
        "iso8": .mp4, "iso9": .mp4, "mp41": .mp4, "mp42": .mp4, "mp71": .mp4, "avc1": .mp4, "hvc1": .mp4,
        "dash": .mp4, "cmfc": .mp4, "cmf2": .mp4, "MSNV": .mp4, "XAVC": .mp4, "NDSC": .mp4, "ndsc": .mp4,
        "f4v ": .mp4, "F4V ": .mp4, "isml": .mp4, "piff": .mp4,
        "M4A ": .foreign, "M4B ": .foreign, "M4P ": .foreign, "F4A ": .foreign, "F4B ": .foreign,
        "aax ": .foreign, "aaxc": .foreign, "jp2 ": .foreign, "jpx ": .foreign, "jpm ": .foreign, "mjp2": .foreign,
    ]

    /// Whether the file begins with a box typical of QuickTime files from before brands existed.
    ///
    /// Words of a text such as "carefree" look like a box too, but their sizes are implausible for such boxes. `mdat`
    /// may have any size. So may `moov` in a long film, which the box inside identifies.
    static func isQuickTimeWithoutBrand(_ prefix: MediaPrefix) -> Bool {
        guard let size = prefix.uint32(at: 0, .big), let code = prefix.code(at: 4) else { return false }
        switch code {
        case "moov": return likelySizes.contains(size) || isBox(in: size, at: 8, of: prefix)
        case "mdat": return (size <= 1 || size >= 8) && !prefix.looksLikeText(0..<4)
        case "wide", "free", "skip", "pnot": return likelySizes.contains(size)
        default: return false
        }
    }

    /// From a bare header to below the value of any four letters.
    private static let likelySizes = 8..<1 << 24

    private static func isBox(in outer: Int, at offset: Int, of prefix: MediaPrefix) -> Bool {
        guard let size = prefix.uint32(at: offset, .big), let code = prefix.code(at: offset + 4) else { return false }
        return size >= 8 && size <= outer - 8
            && ["mvhd", "cmov", "rmra", "udta", "prfl", "iods", "meta"].contains(code)
    }
}
