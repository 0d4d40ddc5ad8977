/// A colour profile (ICC.1:2022, section 7).
enum ColourProfile {
    /// The tags that change how a picture is shown, and the two texts that every profile must have, with their names in
    /// exiftool.
    private static let needed: [String: String] = [
        "A2B0": "AToB0", "A2B1": "AToB1", "A2B2": "AToB2", "A2B3": "AToB3", "B2A0": "BToA0", "B2A1": "BToA1",
        "B2A2": "BToA2", "B2A3": "BToA3", "D2B0": "DToB0", "D2B1": "DToB1", "D2B2": "DToB2", "D2B3": "DToB3",
        "B2D0": "BToD0", "B2D1": "BToD1", "B2D2": "BToD2", "B2D3": "BToD3", "rTRC": "RedTRC", "gTRC": "GreenTRC",
        "bTRC": "BlueTRC", "kTRC": "GrayTRC", "rXYZ": "RedMatrixColumn", "gXYZ": "GreenMatrixColumn",
        "bXYZ": "BlueMatrixColumn", "wtpt": "MediaWhitePoint", "bkpt": "MediaBlackPoint",
        "chad": "ChromaticAdaptation", "cicp": "ICC_Profile_Cicp", "gamt": "Gamut", "lumi": "Luminance",
        "meas": "Measurement", "view": "ViewingConditions", "chrm": "Chromaticity", "clro": "ColorantOrder",
        "clrt": "ColorantTable", "clot": "ColorantTableOut", "ncl2": "NamedColor2", "desc": "ProfileDescription",
        "cprt": "ProfileCopyright", "rig0": "PerceptualRenderingIntentGamut", "rig2": "SaturationRenderingIntentGamut",
        "ciis": "ColorimetricIntentImageState",
    ]
    private static let names = Set(needed.values).union(["ColorRepresentation"])
    private static let header = 128

    /// Whether exiftool's name is that of a tag that is needed. A language may follow.
    static func isNeeded(_ name: String) -> Bool { names.contains(String(name.prefix { $0 != "-" })) }

    /// Returns a profile of the same size without the other tags, such as the serial number of a display.
    ///
    /// - Throws: `refused` if the profile can't be read.
    static func bare(_ profile: [UInt8]) throws(ProductFailure) -> [UInt8] {
        let reader = ByteReader(bytes: profile)
        guard let count = reader.number(at: header, count: 4), count < 1000,
            profile.count >= header + 4 + 12 * Int(count)
        else { throw damaged }
        let table = (header + 4)..<(header + 4 + 12 * Int(count))
        var entries: [UInt8] = []
        var kept: [Range<UInt64>] = []
        for place in stride(from: table.lowerBound, to: table.upperBound, by: 12) {
            guard needed[String(decoding: profile[place..<(place + 4)], as: UTF8.self)] != nil else { continue }
            guard let start = reader.number(at: place + 4, count: 4), let size = reader.number(at: place + 8, count: 4),
                start >= table.upperBound, start + size <= profile.count
            else { throw damaged }
            entries += profile[place..<(place + 12)]
            kept.append(start..<(start + size))
        }
        let number = entries.count / 12
        var bare = Array(profile[..<header]) + [0, 0, UInt8(number >> 8), UInt8(number & 0xFF)] + entries
        bare += [UInt8](repeating: 0, count: profile.count - bare.count)
        // The checksum; zeros if there is none.
        bare.replaceSubrange(84..<100, with: repeatElement(0, count: 16))
        for range in kept { bare.replaceSubrange(indices(range), with: profile[indices(range)]) }
        return bare
    }

    private static func indices(_ range: Range<UInt64>) -> Range<Int> { Int(range.lowerBound)..<Int(range.upperBound) }

    private static let damaged = ProductFailure.refused("the colour profile can't be read")
}
