import URLs

/// Places of styled pictures: `.styles/<style>/<host>[_port]/<path>.png`.
enum StylePlace {
    /// The place of a styled picture below the mirror's directory.
    static func parts(of address: AvatarAddress, styleName: String) -> [[UInt8]] {
        var parts = [MirrorDirectory.styles, directory(of: styleName)] + address.place.map { Array($0.utf8) }
        parts[parts.count - 1] += Array(".png".utf8)
        return parts
    }

    /// The directory of a style: its name, with characters not allowed in a file name percent-encoded.
    ///
    /// Users may choose any names. Different names get different directories.
    private static func directory(of name: String) -> [UInt8] {
        var result: [UInt8] = []
        for byte in name.utf8 {
            let isHidden = result.isEmpty && byte == UInt8(ascii: ".")
            if isHidden || byte == UInt8(ascii: "/") || byte == PercentEncoding.percent || byte < 0x20 {
                PercentEncoding.append(byte, to: &result)
            } else {
                result.append(byte)
            }
        }
        return MirrorPlace.shortened(result.isEmpty ? Array("%empty".utf8) : result)
    }
}
