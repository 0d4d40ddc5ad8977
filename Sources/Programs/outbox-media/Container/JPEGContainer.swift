/// The segments of a JPEG file (ITU T.81, annex B).
///
/// Understood are the picture itself, JFIF, EXIF, XMP, the resources of Photoshop, a colour profile, and comments. A
/// phone puts films, sound, depth and gain maps behind the picture, and announces them in segments of its own.
enum JPEGContainer {
    private static let endOfImage: UInt8 = 0xD9
    private static let startOfScan: UInt8 = 0xDA
    /// What may come between the scans: tables of Huffman codes and quantization, restarts, the number of lines.
    private static let betweenScans: Set<UInt8> = [0xC4, 0xDA, 0xDB, 0xDC, 0xDD]
    private static let pieceSize = 1 << 18

    /// Reads the metadata that the file's own segments hold, except the colour profile.
    ///
    /// - Throws: ``ContainerFailure`` if a JPEG made anew would hold less.
    static func metadata(of file: FileBytes) throws(ContainerFailure) -> PictureMetadata {
        var metadata = PictureMetadata()
        var offset: UInt64 = 2
        var hasScan = false
        while true {
            guard try file.number(at: offset, count: 1) == 0xFF else { throw .holdsMore }
            let marker = UInt8(try file.number(at: offset + 1, count: 1))
            if marker == 0xFF {
                // A marker may begin with any number of such bytes.
                offset += 1
                continue
            }
            if marker == endOfImage {
                guard hasScan, file.isEmpty(from: offset + 2) else { throw .holdsMore }
                return metadata
            }
            let length = try file.number(at: offset + 2, count: 2)
            guard length >= 2, !hasScan || betweenScans.contains(marker) else { throw .holdsMore }
            let end = offset + 2 + length
            if marker == startOfScan {
                hasScan = true
                offset = try endOfScan(from: end, in: file)
                continue
            }
            try metadata.add(marker, try file.bytes(at: offset + 4, count: Int(length) - 2))
            offset = end
        }
    }

    /// Finds the first marker that ends the coded pixels. A zero or a restart marker behind `FF` does not.
    private static func endOfScan(from start: UInt64, in file: FileBytes) throws(ContainerFailure) -> UInt64 {
        var offset = start
        while true {
            let piece = file.piece(at: offset, count: pieceSize)
            if piece.count < 2 { throw .endsEarly }
            let last = piece.count - 1
            var index = 0
            while index < last, let found = piece[index..<last].firstIndex(of: 0xFF) {
                switch piece[found + 1] {
                case 0, 0xD0...0xD7: index = found + 2
                case 0xFF: index = found + 1
                default: return offset + UInt64(found)
                }
            }
            offset += UInt64(max(index, last))
        }
    }
}

extension PictureMetadata {
    /// Takes what a segment holds.
    fileprivate mutating func add(_ marker: UInt8, _ content: [UInt8]) throws(ContainerFailure) {
        func begins(_ signature: [UInt8]) -> Bool { content.starts(with: signature) }
        switch marker {
        // Frames and tables.
        case 0xC0...0xC7, 0xC9...0xCB, 0xCD...0xCF, 0xDB, 0xDD: break
        // Without a thumbnail.
        case 0xE0 where begins(Self.jfifSignature) && content.count == 14:
            jfif = Segment(marker: marker, content: content)
        case 0xE1 where begins(ExifBlock.signature):
            guard exif == nil, let block = ExifBlock(content) else { throw .holdsMore }
            exif = block
        case 0xE1 where begins(Self.xmpSignature):
            guard xmp == nil else { throw .holdsMore }
            xmp = XMPPacket(Array(content.dropFirst(Self.xmpSignature.count)))
        case 0xE1 where begins(Self.extendedSignature), 0xED where begins(Self.photoshopSignature), 0xFE:
            others.append(Segment(marker: marker, content: content))
        case 0xE2 where begins(Self.profileSignature): break
        // How the colours are coded.
        case 0xEE where begins(Array("Adobe".utf8)) && content.count == 12: break
        default: throw .holdsMore
        }
    }
}
