/// An XMP packet, changed as text: its numbers keep their places among all that nobody here understands.
struct XMPPacket {
    private(set) var bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Numbers that count pixels along the width and along the height of the picture: of TIFF, EXIF, panoramas (GPano),
    /// and the size to which regions such as faces refer (MWG).
    private static let widths = [
        "tiff:ImageWidth", "exif:PixelXDimension", "FullPanoWidthPixels", "CroppedAreaImageWidthPixels",
        "CroppedAreaLeftPixels", "LargestValidInteriorRectLeft", "LargestValidInteriorRectWidth", "stDim:w",
    ]
    private static let heights = [
        "tiff:ImageLength", "exif:PixelYDimension", "FullPanoHeightPixels", "CroppedAreaImageHeightPixels",
        "CroppedAreaTopPixels", "LargestValidInteriorRectTop", "LargestValidInteriorRectHeight", "stDim:h",
    ]
    /// Namespaces and names of places in the picture: regions of MWG, Microsoft and IPTC, panoramas, crops of Camera Raw.
    private static let placed =
        widths + heights + [
            "http://www.metadataworkinggroup.com/schemas/regions/", "http://ns.microsoft.com/photo/1.2/",
            "http://ns.google.com/photos/1.0/panorama/", "http://ns.adobe.com/camera-raw-settings/1.0/",
            "http://ns.apple.com/faceinfo/", "ImageRegion",
        ]
    /// Places that count pixels: of EXIF, and regions in this unit.
    private static let counted = ["exif:SubjectArea", "exif:SubjectLocation", "\"pixel\"", "'pixel'", ">pixel<"]

    /// Whether it may name places in the picture, which move if the picture is turned.
    var hasPlaces: Bool { holds(anyOf: Self.placed) }

    /// Whether it names places in the picture that move if the picture is scaled.
    var hasPixels: Bool { holds(anyOf: Self.counted) }

    private func holds(anyOf texts: [String]) -> Bool { texts.contains { bytes.firstRange(of: Array($0.utf8)) != nil } }

    /// Changes the orientation to "upright", where there is one.
    mutating func setUpright() {
        replace("tiff:Orientation") { _ in 1 }
    }

    /// Scales the numbers that count pixels.
    mutating func scale(width: Double, height: Double) {
        for name in Self.widths { replace(name) { Int((Double($0) * width).rounded()) } }
        for name in Self.heights { replace(name) { Int((Double($0) * height).rounded()) } }
    }

    /// Replaces each whole number that a property of this name has, as an attribute or as an element.
    private mutating func replace(_ name: String, with change: (Int) -> Int) {
        let name = Array(name.utf8)
        var start = 0
        while let found = bytes[start...].firstRange(of: name) {
            start = found.upperBound
            // name="12", name = '12', <name>12<
            let between = bytes[start...].prefix { Array(" =\t\r\n\"'>".utf8).contains($0) }
            let digits = bytes[between.endIndex...].prefix { (0x30...0x39).contains($0) }
            guard !between.isEmpty, let number = Int(String(decoding: digits, as: UTF8.self)), number < 1 << 40 else {
                continue
            }
            bytes.replaceSubrange(digits.indices, with: Array("\(change(number))".utf8))
        }
    }
}
