/// MPEG transport streams: packets of 188 bytes, each beginning with 0x47, or of 192 as recorders write them (M2TS).
enum TransportStream {
    private static let sync: UInt8 = 0x47
    private static let leastPackets = 3

    static func matches(_ prefix: MediaPrefix) -> Bool {
        holdsPackets(prefix, from: 0, apart: 188) || holdsPackets(prefix, from: 4, apart: 192)
    }

    /// The sync byte is the letter G: every packet in the prefix must have it, a sound header, and no text around.
    private static func holdsPackets(_ prefix: MediaPrefix, from start: Int, apart: Int) -> Bool {
        var packets = 0
        for offset in stride(from: start, to: prefix.count, by: apart) {
            guard prefix[offset] == sync else { return false }
            guard let flags = prefix[offset + 1], let control = prefix[offset + 3] else { break }
            let isBroken = flags & 0x80 != 0
            let hasContent = control & 0x30 != 0
            guard !isBroken, hasContent else { return false }
            packets += 1
        }
        return packets >= leastPackets && !prefix.looksLikeText(0..<leastPackets * apart)
    }
}

/// MPEG program streams: a pack header with its marker bits, then another start code.
enum ProgramStream {
    static func matches(_ prefix: MediaPrefix) -> Bool {
        guard prefix.has([0, 0, 1, 0xBA]), let first = prefix[4], let second = prefix[6], let third = prefix[8],
            let fourth = prefix[9], let fifth = prefix[11], let sixth = prefix[12], let last = prefix[13]
        else { return false }
        let isSecond = first & 0xC4 == 0x44 && second & 4 == 4 && third & 4 == 4 && fourth & 1 == 1 && sixth & 3 == 3
        if isSecond { return prefix.has([0, 0, 1], at: 14 + Int(last & 7)) }
        let isFirst =
            first & 0xF1 == 0x21 && second & 1 == 1 && third & 1 == 1 && fourth & 0x80 == 0x80 && fifth & 1 == 1
        return isFirst && prefix.has([0, 0, 1], at: 12)
    }
}
