/// Where the first picture of a GIF file lies on its screen (GIF89a specification, 18 to 20).
struct GIFFrame {
    let left: Int
    let top: Int
    let width: Int
    let height: Int
    /// Whether it covers the whole screen.
    let isWhole: Bool

    private static let mostBlocks = 10_000

    /// Reads the first image descriptor.
    ///
    /// - Throws: ``ContainerFailure`` if there is none.
    init(_ file: FileBytes) throws(ContainerFailure) {
        /// The number of bytes of a table of colours, whose size stands in a byte of flags.
        func table(_ flags: UInt8) -> UInt64 { flags & 0x80 == 0 ? 0 : 3 << (UInt64(flags & 7) + 1) }
        let screen = try file.bytes(at: 6, count: 5)
        var offset = 13 + table(screen[4])
        for _ in 0..<Self.mostBlocks {
            switch try file.number(at: offset, count: 1) {
            case 0x2C:
                let place = try file.bytes(at: offset + 1, count: 8)
                let sides = stride(from: 0, to: 8, by: 2).map { Int(place[$0]) | Int(place[$0 + 1]) << 8 }
                (left, top, width, height) = (sides[0], sides[1], sides[2], sides[3])
                isWhole = sides == [0, 0, Int(screen[0]) | Int(screen[1]) << 8, Int(screen[2]) | Int(screen[3]) << 8]
                return
            case 0x21:
                // An extension: its kind, then blocks up to an empty one.
                offset += 2
                var length: UInt64 = 1
                while length > 0 {
                    length = try file.number(at: offset, count: 1)
                    offset += 1 + length
                }
            default: throw .holdsMore
            }
        }
        throw .holdsMore
    }
}
