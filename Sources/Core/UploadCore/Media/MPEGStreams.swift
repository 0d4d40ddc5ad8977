/// MPEG transport streams: packets of 188 bytes, each starting with 0x47, or packets of 192 bytes from recorders
/// (M2TS).
enum TransportStream {
    private static let sync: UInt8 = 0x47
    /// One sync byte proves nothing; three at the right distance do.
    private static let packets = 3

    static func matches(_ prefix: MediaPrefix) -> Bool {
        holdsPackets(prefix, from: 0, apart: 188) || holdsPackets(prefix, from: 4, apart: 192)
    }

    /// Checks the sync bytes of the first packets. The sync byte is the letter G, so the packets must not look like
    /// text. Ignores headers and later packets, since a recording may be damaged anywhere.
    private static func holdsPackets(_ prefix: MediaPrefix, from start: Int, apart: Int) -> Bool {
        (0..<packets).allSatisfy { prefix[start + $0 * apart] == sync } && !prefix.looksLikeText(0..<packets * apart)
    }
}
