/// Videos within a picture: the moving part that phones append to a photo.
enum EmbeddedVideos {
    private static let signature = Array("ftyp".utf8)
    private static let pieceSize = 1 << 20
    private static let overlap = 16
    private static let mostHits = 200
    /// Of all videos together. Each beginning may lead over all boxes behind it.
    private static let mostBoxes = 10_000

    /// Finds videos behind the start of a file.
    static func find(in part: FilePart, _ cancellation: Cancellation) throws(ProductFailure) -> [FilePart] {
        var found: [FilePart] = []
        var hits = 0
        var boxes = 0
        var offset = part.range.lowerBound
        while offset < part.range.upperBound {
            try cancellation.check()
            let count = Int(min(UInt64(pieceSize + overlap), part.range.upperBound - offset))
            guard let piece = try part.bytes(at: offset, count: count) else { break }
            for position in HiddenPositions.find(signature, in: piece) where position < pieceSize {
                let start = offset + UInt64(position)
                hits += 1
                if hits > mostHits { throw .refused("the picture contains too many beginnings of videos") }
                // A HEIF or JPEG XL file begins with such a box itself.
                guard start >= part.range.lowerBound + 36, let video = try video(at: start - 4, part, &boxes) else {
                    continue
                }
                found.append(video)
                if found.count > 8 { throw .refused("the picture contains too many videos") }
            }
            offset += UInt64(min(count, pieceSize))
        }
        return found
    }

    /// The boxes from `ftyp` on; nil if there is no `moov` among them.
    private static func video(
        at start: UInt64, _ part: FilePart, _ boxes: inout Int
    ) throws(ProductFailure) -> FilePart? {
        var end = start
        var hasMovie = false
        let rest = part.within(start..<part.range.upperBound)
        while let box = try Box(at: end, in: rest), box.isNamed {
            boxes += 1
            if boxes > mostBoxes { throw .refused("the videos in the picture have too many boxes") }
            hasMovie = hasMovie || box.type == "moov"
            end = box.range.upperBound
        }
        return hasMovie ? part.within(start..<end) : nil
    }
}
