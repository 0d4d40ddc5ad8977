/// TIFF, and the camera raw formats based on TIFF, which differ by the tags of their first directory.
enum TIFF {
    /// Plain TIFF, or the origin of a raw file.
    enum Family {
        case plain
        case canon
        case dng
        case nikon
        case sony
    }

    private enum Tag {
        static let compression = 0x0103
        static let make = 0x010F
        static let subDirectories = 0x014A
        static let dngVersion = 0xC612
        static let dngPrivateData = 0xC634
    }

    /// Compression schemes used only by raw files (ExifTool, Exif.pm).
    private static let sonyRaw = 32767
    private static let nikonRaw = 34713

    /// Returns nil unless the file is a TIFF. A file counts as plain TIFF if its prefix shows no raw format, even if
    /// its directory is invalid.
    static func family(of prefix: MediaPrefix) -> Family? {
        if prefix.has("II+\0") || prefix.has("MM\0+") { return .plain }
        let order: MediaPrefix.Order
        if prefix.has("II*\0") {
            order = .little
        } else if prefix.has("MM\0*") {
            order = .big
        } else {
            return nil
        }
        if prefix.has([0x43, 0x52, 2, 0], at: 8) { return .canon }
        guard let directory = prefix.uint32(at: 4, order), directory >= 8 else { return .plain }
        return family(of: prefix, directory: directory, order)
    }

    private static func family(of prefix: MediaPrefix, directory: Int, _ order: MediaPrefix.Order) -> Family {
        guard let entries = prefix.uint16(at: directory, order) else { return .plain }
        var make = 0
        var isRaw = false
        for entry in 0..<entries {
            let offset = directory + 2 + 12 * entry
            guard let tag = prefix.uint16(at: offset, order), let value = prefix.uint32(at: offset + 8, order) else {
                break
            }
            switch tag {
            case Tag.dngVersion: return .dng
            case Tag.make: make = value
            case Tag.subDirectories, Tag.dngPrivateData: isRaw = true
            case Tag.compression:
                let scheme = prefix.uint16(at: offset + 8, order)
                isRaw = isRaw || scheme == sonyRaw || scheme == nikonRaw
            default: break
            }
        }
        // The makers' cameras write plain TIFF too, so Make alone proves nothing.
        if isRaw, prefix.has("NIKON", at: make) { return .nikon }
        if isRaw, prefix.has("SONY", at: make) { return .sony }
        return .plain
    }
}
