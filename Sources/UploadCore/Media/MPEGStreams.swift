/// MPEG transport streams: packets of 188 bytes, each beginning with 0x47, or of 192 as recorders write them (M2TS).
enum TransportStream {
    private static let sync: UInt8 = 0x47
    /// One byte says nothing, three in step do.
    private static let packets = 3

    static func matches(_ prefix: MediaPrefix) -> Bool {
        holdsPackets(prefix, from: 0, apart: 188) || holdsPackets(prefix, from: 4, apart: 192)
    }

    /// The first packets must have their sync byte; it is the letter G, so they must be no text as well. A recording may
    /// be damaged anywhere, so their headers and the packets behind are left alone.
    private static func holdsPackets(_ prefix: MediaPrefix, from start: Int, apart: Int) -> Bool {
        (0..<packets).allSatisfy { prefix[start + $0 * apart] == sync } && !prefix.looksLikeText(0..<packets * apart)
    }
}
