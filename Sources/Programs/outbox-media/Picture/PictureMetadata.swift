/// The metadata of a picture, which a JPEG file holds in segments of at most 64 KiB (ITU T.81, B.2.4.6).
struct PictureMetadata {
    /// A segment of a JPEG file.
    struct Segment {
        var marker: UInt8
        var content: [UInt8]
    }

    /// The JFIF segment, which tells the resolution.
    var jfif: Segment?
    /// EXIF data.
    var exif: ExifBlock?
    /// An XMP packet.
    var xmp: XMPPacket?
    /// What goes into a JPEG file as it is: extended XMP, resources of Photoshop with IPTC data, comments.
    var others: [Segment] = []
    /// An ICC profile.
    var profile: [UInt8]?
    /// Whether the container turns the pixels.
    var isTurned = false

    private static let longestSegment = 65_533
    static let jfifSignature = Array("JFIF\0".utf8)
    /// Adobe, XMP specification part 3, 1.1.3.
    static let xmpSignature = Array("http://ns.adobe.com/xap/1.0/\0".utf8)
    /// Parts of a packet that is too long for one segment (1.1.3.1).
    static let extendedSignature = Array("http://ns.adobe.com/xmp/extension/\0".utf8)
    static let photoshopSignature = Array("Photoshop 3.0\0".utf8)
    /// ICC.1:2022, annex B.4.
    static let profileSignature = Array("ICC_PROFILE\0".utf8)

    /// Makes all that counts pixels fit a picture of another size or direction.
    ///
    /// - Parameters:
    ///   - width, height: The new size.
    ///   - isTurned: Whether the pixels were turned upright.
    ///   - scale: How much longer the sides became.
    /// - Throws: ``ContainerFailure`` if something can't be made to fit.
    mutating func fit(
        width: Int, height: Int, isTurned: Bool, scale: (width: Double, height: Double)
    ) throws(ContainerFailure) {
        if let xmp, xmp.hasPixels || isTurned && xmp.hasPlaces { throw .holdsMore }
        exif?.fit(width: width, height: height, isTurned: isTurned)
        xmp?.scale(width: scale.width, height: scale.height)
    }

    /// Changes the orientation to "upright", in EXIF data and the XMP packet. Does nothing where there is none.
    mutating func setUpright() {
        exif?.setUpright()
        xmp?.setUpright()
    }

    /// Adds IPTC data as TIFF has it: a record, which readers of JPEG files expect in a resource of Photoshop.
    mutating func add(iptc: [UInt8]) {
        let count = (0..<4).map { UInt8(truncatingIfNeeded: iptc.count >> (24 - 8 * $0)) }
        let resource = Array("8BIM".utf8) + [4, 4, 0, 0] + count + iptc + (iptc.count % 2 == 0 ? [] : [0])
        others.append(Segment(marker: 0xED, content: Self.photoshopSignature + resource))
    }

    /// Sets the resolution, in pixels for a metre.
    mutating func setResolution(horizontal: Int, vertical: Int) {
        func inches(_ number: Int) -> [UInt8] {
            let number = min(65_535, Int((Double(number) * 0.0254).rounded()))
            return [UInt8(number >> 8), UInt8(number & 0xFF)]
        }
        let resolution = inches(horizontal) + inches(vertical)
        jfif = Segment(marker: 0xE0, content: Self.jfifSignature + [1, 1, 1] + resolution + [0, 0])
    }

    /// Returns a JPEG file with this metadata.
    ///
    /// - Parameter plain: A JPEG file without metadata, perhaps with a JFIF segment.
    /// - Returns: nil if the metadata is too long for a JPEG file.
    func added(to plain: [UInt8]) -> [UInt8]? {
        guard let segments else { return nil }
        let end = Self.endOfJFIF(in: plain)
        return Array(plain[..<(jfif == nil ? end : 2)]) + segments + plain[end...]
    }

    private var segments: [UInt8]? {
        var segments = jfif.map { [$0] } ?? []
        if let exif { segments.append(Segment(marker: 0xE1, content: ExifBlock.signature + exif.bytes)) }
        if let xmp { segments.append(Segment(marker: 0xE1, content: Self.xmpSignature + xmp.bytes)) }
        segments += others
        let step = Self.longestSegment - Self.profileSignature.count - 2
        let parts = stride(from: 0, to: profile?.count ?? 0, by: step).map { profile?.dropFirst($0).prefix(step) ?? [] }
        if parts.count > 255 { return nil }
        for (number, part) in parts.enumerated() {
            let content = Self.profileSignature + [UInt8(number + 1), UInt8(parts.count)] + part
            segments.append(Segment(marker: 0xE2, content: content))
        }
        if segments.contains(where: { $0.content.count > Self.longestSegment }) { return nil }
        return segments.flatMap { segment in
            let length = segment.content.count + 2
            return [0xFF, segment.marker, UInt8(length >> 8), UInt8(length & 0xFF)] + segment.content
        }
    }

    /// The JFIF segment, if any, must be the first one.
    private static func endOfJFIF(in file: [UInt8]) -> Int {
        guard file.count > 6, file[2] == 0xFF, file[3] == 0xE0 else { return min(2, file.count) }
        return min(file.count, 4 + (Int(file[4]) << 8 | Int(file[5])))
    }
}
