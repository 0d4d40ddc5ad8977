/// The names of metadata in a QuickTime file (QuickTime File Format, metadata item keys).
enum MovieKeys {
    /// Names of keys that programs write without a domain.
    private static let plainKeys: Set = [
        "title", "artist", "album", "album_artist", "composer", "comment", "description", "synopsis", "copyright",
        "date",
        "year", "genre", "track", "show", "network", "encoder", "make", "model", "creation_time", "major_brand",
        "minor_version", "compatible_brands", "language", "author", "keywords", "software",
    ]

    /// Returns the numbers of the keys that hold no position (QuickTime File Format, metadata item keys).
    static func harmless(in bytes: [UInt8]) -> Set<UInt64> {
        let reader = ByteReader(bytes: bytes)
        var found: Set<UInt64> = []
        var offset = 8
        var index: UInt64 = 1
        while let size = reader.number(at: offset, count: 4), size >= 8, offset + Int(size) <= bytes.count {
            let name = String(decoding: bytes[(offset + 8)..<(offset + Int(size))], as: UTF8.self).lowercased()
            let isOfPhone = ["com.apple.quicktime.", "com.android."].contains { name.hasPrefix($0) }
            let isPosition = ["location", "gps", "latitude", "longitude", "iso6709"].contains { name.contains($0) }
            if plainKeys.contains(name) || isOfPhone && !isPosition { found.insert(index) }
            offset += Int(size)
            index += 1
        }
        return found
    }
}
