/// The metadata of a picture, which a JPEG file holds in segments of at most 64 KiB (ITU T.81, B.2.4.6).
struct PictureMetadata {
    /// EXIF data.
    var exif: ExifBlock?
    /// An XMP packet.
    var xmp: [UInt8]?
    /// IPTC data: the resources of Photoshop, or only the record of IPTC as TIFF has it.
    var iptc: [UInt8]?
    /// An ICC profile.
    var profile: [UInt8]?

    private static let longestSegment = 65_533
    /// Adobe, XMP specification part 3, 1.1.3.
    private static let xmpSignature = Array("http://ns.adobe.com/xap/1.0/\0".utf8)
    private static let photoshopSignature = Array("Photoshop 3.0\0".utf8)
    /// ICC.1:2022, annex B.4.
    private static let profileSignature = Array("ICC_PROFILE\0".utf8)

    /// Whether the file says that it also holds a film: a motion photo of a phone.
    var announcesFilm: Bool {
        let text = String(decoding: xmp ?? [], as: UTF8.self)
        return ["MotionPhoto", "MicroVideo"].contains { name in
            text.contains("\(name)=\"1\"") || text.contains("\(name)>1<")
        }
    }

    /// Changes the orientation to "upright", in EXIF data and the XMP packet. Does nothing where there is none.
    mutating func setUpright() {
        exif?.setUpright()
        for spelling in ["tiff:Orientation=\"", "tiff:Orientation='", "tiff:Orientation>"] {
            guard let place = xmp?.firstRange(of: Array(spelling.utf8)), let end = xmp?.endIndex,
                place.upperBound < end
            else { continue }
            xmp?[place.upperBound] = UInt8(ascii: "1")
        }
    }

    /// Returns a JPEG file with this metadata.
    ///
    /// - Parameter plain: A JPEG file without metadata, perhaps with a JFIF segment.
    /// - Returns: nil if the metadata is too long for a JPEG file.
    func added(to plain: [UInt8]) -> [UInt8]? {
        guard let segments else { return nil }
        return Array(plain[..<Self.endOfJFIF(in: plain)]) + segments + plain[Self.endOfJFIF(in: plain)...]
    }

    private var segments: [UInt8]? {
        var segments: [(marker: UInt8, content: [UInt8])] = []
        if let exif { segments.append((0xE1, ExifBlock.signature + exif.bytes)) }
        if let xmp { segments.append((0xE1, Self.xmpSignature + xmp)) }
        if let iptc { segments.append((0xED, Self.photoshop(iptc))) }
        let step = Self.longestSegment - Self.profileSignature.count - 2
        let parts = stride(from: 0, to: profile?.count ?? 0, by: step).map { profile?.dropFirst($0).prefix(step) ?? [] }
        if parts.count > 255 { return nil }
        for (number, part) in parts.enumerated() {
            segments.append((0xE2, Self.profileSignature + [UInt8(number + 1), UInt8(parts.count)] + part))
        }
        if segments.contains(where: { $0.content.count > Self.longestSegment }) { return nil }
        return segments.flatMap { segment in
            let length = segment.content.count + 2
            return [0xFF, segment.marker, UInt8(length >> 8), UInt8(length & 0xFF)] + segment.content
        }
    }

    /// Puts a record of IPTC into a resource of Photoshop, as readers of JPEG files expect.
    private static func photoshop(_ iptc: [UInt8]) -> [UInt8] {
        if iptc.starts(with: photoshopSignature) { return iptc }
        let count = (0..<4).map { UInt8(truncatingIfNeeded: iptc.count >> (24 - 8 * $0)) }
        return photoshopSignature + Array("8BIM".utf8) + [4, 4, 0, 0] + count + iptc + (iptc.count % 2 == 0 ? [] : [0])
    }

    /// The JFIF segment, if any, must be the first one.
    private static func endOfJFIF(in file: [UInt8]) -> Int {
        guard file.count > 6, file[2] == 0xFF, file[3] == 0xE0 else { return min(2, file.count) }
        return min(file.count, 4 + (Int(file[4]) << 8 | Int(file[5])))
    }
}
