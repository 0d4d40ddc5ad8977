/// A file within a video, such as a cover.
enum AttachedPicture {
    private static let longestPicture = 64 << 20
    private static let GIF = Array("GIF8".utf8)
    /// Fonts: TrueType, OpenType, collections, WOFF. Such files compress no positions: ``HiddenPositions`` finds each.
    private static let searchable: [[UInt8]] = [
        [0, 1, 0, 0, 0], Array("OTTO".utf8), Array("ttcf".utf8), Array("true".utf8),
        Array("wOFF".utf8), Array("wOF2".utf8),
    ]
    private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// Chunks of PNG with EXIF or texts.
    private static let metadata = ["eXIf", "zTXt", "iTXt", "tEXt"].map { Array($0.utf8) }

    /// Returns the changes that remove what nobody here can read; nil if the file as a whole can't be read.
    static func patches(for file: FilePart, _ cancellation: Cancellation) throws(ProductFailure) -> Patches? {
        if try JPEGSegments.isFound(in: file) {
            return try readable { () throws(ProductFailure) in
                var segments = JPEGSegments(in: file, keeping: .none, cancellation)
                try segments.searchAll()
                return segments.patches
            }
        }
        let start = try file.bytes(at: file.range.lowerBound, count: min(8, file.range.count)) ?? []
        if start.starts(with: GIF) {
            return try readable { () throws(ProductFailure) in
                try PictureParts(in: file, type: "image/gif", videos: [], isBare: true, cancellation).patches
            }
        }
        if searchable.contains(where: { start.starts(with: $0) }) { return [] }
        guard start == png, file.range.count <= longestPicture else { return nil }
        let bytes = try file.bytes(at: file.range.lowerBound, count: file.range.count) ?? []
        return metadata.contains { !HiddenPositions.find($0, in: bytes).isEmpty } ? nil : []
    }

    /// Returns what a search finds; nil if the file can't be read.
    private static func readable(_ search: () throws(ProductFailure) -> Patches) throws(ProductFailure) -> Patches? {
        do throws(ProductFailure) {
            return try search()
        } catch {
            guard case .refused = error else { throw error }
            return nil
        }
    }
}
