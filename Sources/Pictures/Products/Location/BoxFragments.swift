/// The samples of a fragmented MP4 file (ISO 14496-12, 8.8).
struct BoxFragments {
    /// The samples of each track.
    private(set) var samples: [UInt64: [Range<UInt64>]] = [:]
    /// The boxes of each track within the fragments.
    private(set) var boxes: [UInt64: [Box]] = [:]

    private let part: FilePart
    private var defaultSizes: [UInt64: UInt64] = [:]

    private static let longestTable = 16 << 20

    init(_ part: FilePart) { self.part = part }

    private func reader(_ box: Box) throws(ProductFailure) -> ByteReader {
        guard box.content.count <= Self.longestTable else { throw .refused("a table of the video is too large") }
        return ByteReader(bytes: try part.bytes(at: box.content.lowerBound, count: box.content.count) ?? [])
    }

    /// Reads the usual size of a track's samples.
    ///
    /// - Parameter box: A `trex`.
    mutating func addDefaults(_ box: Box) throws(ProductFailure) {
        let reader = try reader(box)
        if let id = reader.number(at: 4, count: 4) { defaultSizes[id] = reader.number(at: 16, count: 4) }
    }

    /// Adds a fragment of one track.
    ///
    /// - Parameters:
    ///   - box: A `traf`.
    ///   - children: The boxes in it.
    ///   - fragment: The `moof` around it.
    ///   - end: Where the fragment of the track before ends.
    mutating func add(
        _ box: Box, _ children: [Box], of fragment: Box, end: inout UInt64
    ) throws(ProductFailure) {
        guard let header = children.first(where: { $0.type == "tfhd" }) else { throw Self.damaged }
        let reader = try reader(header)
        guard let flags = reader.number(at: 0, count: 4), let id = reader.number(at: 4, count: 4) else {
            throw Self.damaged
        }
        var place = 8
        func next(_ flag: UInt64, _ count: Int) -> UInt64? {
            guard flags & flag != 0 else { return nil }
            defer { place += count }
            return reader.number(at: place, count: count)
        }
        let explicit = next(0x1, 8).map { part.range.lowerBound &+ $0 }
        _ = next(0x2, 4)
        _ = next(0x8, 4)
        let size = next(0x10, 4) ?? defaultSizes[id] ?? 0
        let base = explicit ?? (flags & 0x20000 != 0 || end == 0 ? fragment.range.lowerBound : end)
        end = base
        for run in children where run.type == "trun" { try addRun(run, of: id, base, size, end: &end) }
        boxes[id, default: []].append(box)
    }

    private static let damaged = ProductFailure.refused("a fragment of the video is damaged")

    private mutating func addRun(
        _ box: Box, of id: UInt64, _ base: UInt64, _ defaultSize: UInt64, end: inout UInt64
    ) throws(ProductFailure) {
        let reader = try reader(box)
        guard let flags = reader.number(at: 0, count: 4), let count = reader.number(at: 4, count: 4) else {
            throw Self.damaged
        }
        var place = 8
        if flags & 0x1 != 0 {
            guard let offset = reader.number(at: place, count: 4) else { throw Self.damaged }
            end = base &+ UInt64(bitPattern: Int64(Int32(truncatingIfNeeded: offset)))
            place += 4
        }
        if flags & 0x4 != 0 { place += 4 }
        let before = flags & 0x100 != 0 ? 4 : 0
        let width = before + [0x200, 0x400, 0x800].reduce(0) { $0 + (flags & UInt64($1) != 0 ? 4 : 0) }
        var size: UInt64 = 0
        if flags & 0x200 != 0 {
            for sample in 0..<count {
                guard let number = reader.number(at: place + width * Int(sample) + before, count: 4) else {
                    throw Self.damaged
                }
                size += number
            }
        } else {
            size = count * defaultSize
        }
        guard end >= part.range.lowerBound, end <= part.range.upperBound, size <= part.range.upperBound - end else {
            throw Self.damaged
        }
        if size > 0 { samples[id, default: []].append(end..<(end + size)) }
        end += size
    }
}
