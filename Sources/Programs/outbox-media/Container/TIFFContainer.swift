/// The first directory of a TIFF file (TIFF 6.0, sections 8 to 22).
///
/// Understood are pictures of 8 bits, and coloured ones of 16 bits. Other numbers are often measured values, such as
/// heights or temperatures, which a JPEG can't hold. Private tags belong to programs and instruments.
enum TIFFContainer {
    private enum Tag {
        static let bits = 258
        static let photometric = 262
        static let samples = 277
        static let format = 339
        static let xmp = 700
        static let iptc = 33723
        /// Of strips and of tiles.
        static let places = [273, 324]
        static let lengths = [279, 325]
    }

    /// Tags that say how the pixels are stored: kind of picture, size, bits, compression, photometric interpretation,
    /// order of bits, strips, samples, planes, page number, predictor, palette, tiles, format of samples, JPEG tables,
    /// YCbCr; and the colour profile, which libvips reads.
    private static let layout: Set = [
        254, 256, 257, 258, 259, 262, 266, 273, 277, 278, 279, 284, 297, 317, 320, 322, 323, 324, 325, 339, 347, 529,
        530, 531, 532, 34675,
    ]
    /// Black or white is zero; RGB; palette; CMYK; YCbCr.
    private static let photometrics: Set<UInt64> = [0, 1, 2, 3, 5, 6]
    /// Bytes that no tag refers to, as editors leave them.
    private static let longestGap: UInt64 = 1 << 16
    /// Bytes behind the last tag or pixel, up to a multiple of four.
    private static let longestPadding: UInt64 = 3

    /// Reads the metadata, except the colour profile.
    ///
    /// - Throws: ``ContainerFailure`` if a JPEG would hold less.
    static func metadata(of file: TIFFFile, length: UInt64) throws(ContainerFailure) -> PictureMetadata {
        let entries = file.entries
        func numbers(_ tag: Int) -> [UInt64]? { entries.first { $0.tag == tag }.flatMap { file.numbers(of: $0) } }
        let known = layout.union(ExifBlock.described).union(ExifBlock.pointers).union([Tag.xmp, Tag.iptc])
        guard entries.allSatisfy({ known.contains($0.tag) }) else { throw .holdsMore }
        let bits = numbers(Tag.bits) ?? [1]
        let isDeep = bits.contains(16)
        guard bits.allSatisfy({ $0 == (isDeep ? 16 : 8) }), !isDeep || numbers(Tag.samples) ?? [1] != [1],
            (numbers(Tag.format) ?? [1]).allSatisfy({ $0 == 1 }),
            photometrics.contains(numbers(Tag.photometric)?.first ?? .max)
        else { throw .holdsMore }
        let used = Tag.lengths.compactMap(numbers).joined().reduce(0 as UInt64) { $0 &+ $1 }
        let described = entries.reduce(0 as UInt64) { $0 &+ UInt64(file.value(of: $1)?.count ?? 0) }
        guard length <= used &+ described &+ longestGap else { throw .holdsMore }
        let pixels = zip(Tag.places.compactMap(numbers).joined(), Tag.lengths.compactMap(numbers).joined()).map {
            $0 &+ $1
        }
        let end = max(file.end(with: ExifBlock.pointers), pixels.max() ?? 0)
        guard length <= end &+ longestPadding else { throw .holdsMore }
        var metadata = PictureMetadata()
        metadata.exif = try ExifBlock(collectedFrom: file)
        for entry in entries where [Tag.xmp, Tag.iptc].contains(entry.tag) {
            guard let value = file.value(of: entry) else { throw .holdsMore }
            if entry.tag == Tag.xmp { metadata.xmp = XMPPacket(value) } else { metadata.add(iptc: value) }
        }
        return metadata
    }
}
