/// Messages beside the pictures in a stream of H.264, HEVC or VVC (SEI): AVCHD camcorders and cars write positions there.
///
/// A unit with a message of an unknown maker becomes one of filler, of the same size; so does a unit of an unknown kind.
struct SupplementalMessages: StreamSearch {
    /// A codec whose streams have such messages.
    enum Codec: CaseIterable {
        case h264, hevc, vvc

        /// The box with the configuration of a stream (ISO 14496-15).
        var configuration: String {
            switch self {
            case .h264: "avcC"
            case .hevc: "hvcC"
            case .vvc: "vvcC"
            }
        }

        /// The codec of a sample format of MP4, or of a codec ID of Matroska.
        init?(_ name: String) {
            switch name {
            case "avc1", "avc2", "avc3", "avc4", "dva1", "dvav", "V_MPEG4/ISO/AVC": self = .h264
            case "hvc1", "hev1", "dvh1", "dvhe", "V_MPEGH/ISO/HEVC": self = .hevc
            case "vvc1", "vvi1", "V_MPEGI/ISO/VVC": self = .vvc
            default: return nil
            }
        }

        var headerSize: Int { self == .h264 ? 1 : 2 }

        fileprivate func type(of header: [UInt8]) -> UInt8 {
            switch self {
            case .h264: header[0] & 0x1F
            case .hevc: header[0] >> 1 & 0x3F
            case .vvc: header[1] >> 3
            }
        }

        /// Returns a header of the same layer that makes a unit one of filler data.
        fileprivate func filler(_ header: [UInt8]) -> [UInt8] {
            switch self {
            case .h264: [12]
            case .hevc: [header[0] & 0x81 | 38 << 1, header[1]]
            case .vvc: [header[0], header[1] & 7 | 25 << 3]
            }
        }

        /// Returns the kind of a unit (table 7-1 of ITU-T H.264 and H.265, table 5 of H.266). Dolby Vision has types 62
        /// and 63 of HEVC.
        fileprivate func kind(of header: [UInt8]) -> Kind {
            switch (self, type(of: header)) {
            case (.h264, 6), (.hevc, 39...40), (.vvc, 23...24): .message
            case (.h264, 9...11), (.hevc, 35...37), (.vvc, 20...22): .delimiter
            case (.h264, 12), (.hevc, 38), (.vvc, 25): .filler
            case (.h264, 1...5), (.h264, 7...8), (.h264, 13...15), (.h264, 19...21): .picture
            case (.hevc, 0...9), (.hevc, 16...21), (.hevc, 32...34), (.hevc, 62...63): .picture
            case (.vvc, 0...3), (.vvc, 7...10), (.vvc, 12...19): .picture
            default: .foreign
            }
        }
    }

    /// What a unit is for.
    fileprivate enum Kind {
        /// Needed to decode the pictures.
        case picture
        /// The boundary of a picture or of the stream, with a byte of content at most.
        case delimiter
        case message
        /// Nothing.
        case filler
        case foreign
    }

    private let codec: Codec
    /// The number of bytes of the size before each unit.
    private let sizeOfLength: Int

    private static let longest = 1 << 20
    /// HDR10+, under the rules of ITU-T T.35: country and provider, and what follows.
    static let dynamicRange: [UInt8] = [0xB5, 0, 0x3C, 0, 1, 4]
    /// The same for captions and for the part of a picture that matters.
    private static let registered: [[UInt8]] = [
        [0xB5, 0, 0x31] + Array("GA94".utf8) + [3], [0xB5, 0, 0x31] + Array("DTG1".utf8), dynamicRange,
    ]
    /// The UUIDs under which x264 and x265 state their options.
    private static let unregistered: [[UInt8]] = [
        [0xDC, 0x45, 0xE9, 0xBD, 0xE6, 0xD9, 0x48, 0xB7, 0x96, 0x2C, 0xD8, 0x20, 0xD9, 0x23, 0xEE, 0xEF],
        [0x2C, 0xA2, 0xDE, 0x09, 0xB5, 0x17, 0x47, 0xDB, 0xBB, 0x55, 0xA4, 0xFE, 0x7F, 0xC2, 0xFC, 0x4E],
    ]

    /// Whether only messages stay that are needed to show the pictures.
    private let isBare: Bool

    private init(codec: Codec, sizeOfLength: Int, isBare: Bool) {
        (self.codec, self.sizeOfLength, self.isBare) = (codec, sizeOfLength, isBare)
    }

    /// Creates a search by the configuration of a stream (ISO 14496-15).
    ///
    /// - Parameter configuration: The content of `avcC`, `hvcC` or `vvcC`.
    init?(_ codec: Codec, configuration: ArraySlice<UInt8>, isBare: Bool = false) {
        let place: Int
        switch codec {
        case .h264: place = 4
        case .hevc: place = 21
        case .vvc: place = 4
        }
        guard let byte = configuration.dropFirst(place).first else { return nil }
        self.codec = codec
        self.isBare = isBare
        sizeOfLength = Int(codec == .vvc ? byte >> 1 & 3 : byte & 3) + 1
    }

    /// Returns the changes that remove messages from samples.
    ///
    /// - Parameter range: Samples, one after the other.
    /// - Throws: ``ProductFailure``; `refused` if they can't be read to the end.
    func patches(
        for range: Range<UInt64>, in part: FilePart, _ cancellation: Cancellation
    ) throws(ProductFailure) -> Patches {
        var patches = Patches()
        var offset = range.lowerBound
        while offset < range.upperBound {
            try cancellation.check()
            let ahead = sizeOfLength + codec.headerSize
            guard let start = try part.bytes(at: offset, count: min(ahead, Int(range.upperBound - offset))),
                let size = ByteReader(bytes: start).number(at: 0, count: sizeOfLength),
                size <= range.upperBound - offset - UInt64(sizeOfLength)
            else { throw .refused("the pictures of the video can't be searched for messages with positions") }
            let unit = (offset + UInt64(sizeOfLength))..<(offset + UInt64(sizeOfLength) + size)
            offset = unit.upperBound
            let header = Array(start.dropFirst(sizeOfLength))
            if unit.count >= codec.headerSize { try patches += self.patches(forUnit: unit, header, in: part) }
        }
        return patches
    }

    private func patches(
        forUnit unit: Range<UInt64>, _ header: [UInt8], in part: FilePart
    ) throws(ProductFailure) -> Patches {
        let kind = codec.kind(of: header)
        // A few zeros may follow.
        if kind == .picture || kind == .delimiter && unit.count <= codec.headerSize + 4 { return [] }
        let content = (unit.lowerBound + UInt64(codec.headerSize))..<unit.upperBound
        if kind == .message {
            guard unit.count <= Self.longest, let bytes = try part.bytes(at: content.lowerBound, count: content.count)
            else { throw .refused("a message in the pictures of the video is too long") }
            return areKnown(Self.unescaped(bytes[...])) ? [] : [.filler(content)]
        }
        if kind == .filler, try Self.isPadding(content, in: part) { return [] }
        return [.bytes(codec.filler(header), at: unit.lowerBound), .padding(content)]
    }

    /// Whether a range consists of ones, the bit that ends them, and zeros.
    private static func isPadding(_ range: Range<UInt64>, in part: FilePart) throws(ProductFailure) -> Bool {
        var offset = range.lowerBound
        var hasEnded = false
        while offset < range.upperBound {
            let count = Int(min(UInt64(longest), range.upperBound - offset))
            guard let bytes = try part.bytes(at: offset, count: count) else { return false }
            for byte in bytes where byte != (hasEnded ? 0 : 0xFF) {
                if hasEnded || byte != 0x80 && byte != 0 { return false }
                hasEnded = true
            }
            offset += UInt64(count)
        }
        return true
    }

    /// Returns the changes that remove messages from a configuration of HEVC, which may hold some for all pictures.
    ///
    /// - Parameter start: Where the content of `hvcC` is.
    static func patches(
        forConfiguration start: UInt64, in part: FilePart, isBare: Bool
    ) throws(ProductFailure) -> Patches {
        let search = SupplementalMessages(codec: .hevc, sizeOfLength: 2, isBare: isBare)
        var patches = Patches()
        var place = start + 23
        for _ in 0..<(try part.number(at: start + 22, count: 1) ?? 0) {
            let units = try part.number(at: place + 1, count: 2) ?? 0
            place += 3
            for _ in 0..<units {
                guard let size = try part.number(at: place, count: 2),
                    let header = try part.bytes(at: place + 2, count: 2)
                else { return patches }
                let unit = (place + 2)..<(place + 2 + size)
                if size > 2, unit.upperBound <= part.range.upperBound {
                    try patches += search.patches(forUnit: unit, header, in: part)
                }
                place = unit.upperBound
            }
        }
        return patches
    }

    /// Removes the bytes that keep a unit from imitating a start code (ITU-T H.264, 7.4.1.1).
    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var found: [UInt8] = []
        var zeros = 0
        for byte in bytes {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            found.append(byte)
        }
        return found
    }

    private func areKnown(_ bytes: [UInt8]) -> Bool {
        var offset = 0
        func next() -> Int? {
            var sum = 0
            while offset < bytes.count {
                let byte = Int(bytes[offset])
                offset += 1
                sum += byte
                if byte != 0xFF { return sum }
            }
            return nil
        }
        // The last byte with a bit is the end of the unit.
        let end = (bytes.lastIndex { $0 != 0 } ?? 0)
        while offset < end {
            guard let type = next(), let size = next(), size <= bytes.count - offset else { return false }
            if !isKnown(type, bytes[offset..<(offset + size)]) { return false }
            offset += size
        }
        return true
    }

    /// Messages that only tell how to decode and show the pictures (ITU-T H.274, and annex D of H.264 and H.265).
    private static let knownTypes: Set<Int> = [
        0, 1, 2, 6, 7, 8, 9, 10, 11, 12, 13, 19, 21, 22, 23, 45, 46, 47, 128, 129, 130, 131, 132, 133, 134, 136, 137,
        142,
        144, 145, 147, 148, 149, 150, 151, 154, 155, 156, 165, 168, 176, 177, 179, 201, 203, 204, 205,
    ]

    private func isKnown(_ type: Int, _ payload: ArraySlice<UInt8>) -> Bool {
        switch type {
        case 3: payload.allSatisfy { $0 == 0xFF }
        case 4: (isBare ? Self.registered.suffix(1) : Self.registered[...]).contains { payload.starts(with: $0) }
        case 5: !isBare && Self.unregistered.contains { payload.starts(with: $0) }
        default: Self.knownTypes.contains(type)
        }
    }

    /// Messages of filler (payload type 3), and the end of the unit.
    static func filler(_ count: Int) -> [UInt8] {
        if count < 3 {
            return [UInt8](repeating: 0x80, count: min(1, count)) + [UInt8](repeating: 0, count: max(0, count - 1))
        }
        var bytes: [UInt8] = []
        var left = count - 1
        while left > 0 {
            // The size takes a byte for each 255; what remains must have room for another message.
            let size = min(left - 2, 254)
            let isLast = left - 2 - size == 0
            let used = isLast || left - 2 - size >= 2 ? size : size - 2
            bytes += [3, UInt8(used)] + [UInt8](repeating: 0xFF, count: used)
            left -= 2 + used
        }
        return bytes + [0x80]
    }
}
